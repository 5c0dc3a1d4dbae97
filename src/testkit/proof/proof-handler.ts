// Proof handler: a pipeline whose handler and sink tell a proof run of every point they come to.
//   H1. The user's code runs as it is, on what it would be given, inside a watched world.

import { durationMs } from "../../core/units.ts";
import type { HandlerEvent, Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import { type HandlerUse, type HandlerWorld, watchHandler } from "../../platform/handler-watch.ts";
import type { Random } from "../../ports/random.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { SimProcess } from "../../sim/hosts/process.ts";
import type { Invocation, ProofRun } from "./proof-run.ts";

/** Something that a handler reached for besides what it was given. */
export interface OutsideUse {
  readonly use: HandlerUse;
  readonly call: string;
  /** file:line of the user's code. */
  readonly site: string | null;
}

export type FetchStub = (request: Request) => Response | Promise<Response>;

export interface ProbeOptions {
  readonly run: ProofRun;
  readonly random: Random;
  readonly fetch: FetchStub;
  readonly onUse: (use: OutsideUse) => void;
  /** Name of the record with that idempotency key. */
  readonly nameOf: (key: string) => string;
}

/** The pipeline as the consumer of one process runs it. */
export function probedPipeline(
  pipeline: Pipeline,
  process: SimProcess,
  options: ProbeOptions,
): Pipeline {
  const { sink } = pipeline;
  return {
    ...pipeline,
    handler: (arrival, context) => runHandler(pipeline, process, options, { arrival, context }),
    sink: typeof sink === "function" ? probedSink(sink, process, options) : sink,
  };
}

async function runHandler(
  pipeline: Pipeline,
  process: SimProcess,
  options: ProbeOptions,
  given: { readonly arrival: HandlerEvent; readonly context: HandlerContext },
): Promise<void> {
  const { run } = options;
  const { arrival, context } = given;
  const { key, attempt } = context;
  const invocation: Invocation = { process, record: options.nameOf(key), key, waiting: 0 };
  run.begin(invocation);
  try {
    const begins = `begins attempt ${attempt} at the record`;
    await run.at(invocation, "start", begins, async () => undefined);
    await watchHandler(worldOf(invocation, options), async () =>
      pipeline.handler(
        probedArrival(arrival, invocation, run),
        probedContext(context, invocation, run),
      ),
    );
    await run.at(invocation, "end", "ends its handler", async () => undefined);
  } finally {
    run.end(invocation);
  }
}

function probedSink(write: SinkFunction, process: SimProcess, options: ProbeOptions): SinkFunction {
  const { run } = options;
  return async (effects, about) => {
    const { key } = about;
    const invocation: Invocation = { process, record: options.nameOf(key), key, waiting: 0 };
    run.begin(invocation);
    try {
      await run.at(invocation, "sink", `hands ${effects.length} effects to its sink`, async () =>
        watchHandler(worldOf(invocation, options), async () => write(effects, about)),
      );
    } finally {
      run.end(invocation);
    }
  };
}

function probedArrival(arrival: HandlerEvent, invocation: Invocation, run: ProofRun): HandlerEvent {
  if (!("object" in arrival)) return arrival;
  const each = async function* <T>(all: AsyncIterable<T>, what: string) {
    let count = 0;
    for await (const one of all) {
      count += 1;
      await run.at(invocation, "row", `reads ${what} ${count}`, async () => undefined);
      yield one;
    }
  };
  return {
    ...arrival,
    rows: () => each(arrival.rows(), "row"),
    bytes: () => each(arrival.bytes(), "part"),
    text: () => run.at(invocation, "row", "reads its text", () => arrival.text()),
  };
}

function probedContext(
  context: HandlerContext,
  invocation: Invocation,
  run: ProofRun,
): HandlerContext {
  const pass = (what: string) => run.pass(invocation, "effect", what);
  return {
    ...context,
    upsert(table, row) {
      pass(`asks for a row of ${table}`);
      context.upsert(table, row);
    },
    delete(table, key) {
      pass(`asks for a row of ${table} to go`);
      context.delete(table, key);
    },
    emit(effect) {
      pass("emits an effect");
      context.emit(effect);
    },
  };
}

function worldOf(invocation: Invocation, options: ProbeOptions): HandlerWorld {
  const { run, random, fetch: answer, onUse } = options;
  const { process, record, key } = invocation;
  return {
    now: () => process.clock.now(),
    fraction: () => random.fraction(),
    sleep: (ms) => {
      const span = durationMs(Math.max(0, Number.isFinite(ms) ? Math.trunc(ms) : 0));
      return run.waitFor(invocation, () => process.clock.sleep(span));
    },
    used: (use, call, site) => onUse({ use, call, site }),
    fetch(request) {
      const { method, url, headers, body } = request;
      return run.at(invocation, "call", `sends ${method} ${url}`, async () => {
        run.calls.push({ ...request, record, key });
        const plain = method === "GET" || method === "HEAD" ? null : body;
        return answer(new Request(url, { method, headers, body: plain }));
      });
    },
  };
}
