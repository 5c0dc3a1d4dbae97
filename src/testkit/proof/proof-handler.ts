// Proof handler: a pipeline whose handler and sink report every point they reach to a proof run.
//   H1. The user's code runs unchanged, on its normal inputs, in a watched world.

import { durationMs } from "../../core/units.ts";
import type { HandlerEvent, Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { HandlerContext } from "../../ingest/spec/pipeline-spec.ts";
import { type HandlerUse, type HandlerWorld, watchHandler } from "../../platform/handler-watch.ts";
import type { Random } from "../../ports/random.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { SimProcess } from "../../sim/hosts/process.ts";
import type { Invocation, ProofRun } from "./proof-run.ts";

/** A use of time, randomness, timers or sockets that is not part of the handler's inputs. */
export interface OutsideUse {
  readonly use: HandlerUse;
  readonly call: string;
  /** file:line of the user's code. */
  readonly location: string | null;
}

/** Stands in for `fetch` while a handler is proved, so that no run reaches the network. */
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
    handler: (event, context) => runHandler(pipeline, process, options, { event, context }),
    sink: typeof sink === "function" ? probedSink(sink, process, options) : sink,
  };
}

async function runHandler(
  pipeline: Pipeline,
  process: SimProcess,
  options: ProbeOptions,
  input: { readonly event: HandlerEvent; readonly context: HandlerContext },
): Promise<void> {
  const { run } = options;
  const { event, context } = input;
  const { key, attempt } = context;
  const invocation: Invocation = { process, record: options.nameOf(key), key, waiting: 0 };
  run.begin(invocation);
  try {
    const starts = `starts attempt ${attempt} of the record`;
    await run.at(invocation, "start", starts, async () => undefined);
    await watchHandler(worldOf(invocation, options), async () =>
      pipeline.handler(
        probedEvent(event, invocation, run),
        probedContext(context, invocation, run),
      ),
    );
    await run.at(invocation, "end", "returns from the handler", async () => undefined);
  } finally {
    run.end(invocation);
  }
}

function probedSink(write: SinkFunction, process: SimProcess, options: ProbeOptions): SinkFunction {
  const { run } = options;
  return async (effects, origin) => {
    const { key } = origin;
    const invocation: Invocation = { process, record: options.nameOf(key), key, waiting: 0 };
    run.begin(invocation);
    try {
      await run.at(invocation, "sink", `writes ${effects.length} effects to the sink`, async () =>
        watchHandler(worldOf(invocation, options), async () => write(effects, origin)),
      );
    } finally {
      run.end(invocation);
    }
  };
}

function probedEvent(event: HandlerEvent, invocation: Invocation, run: ProofRun): HandlerEvent {
  if (!("rows" in event)) return event;
  const each = async function* <T>(all: AsyncIterable<T>, what: string) {
    let count = 0;
    for await (const one of all) {
      count += 1;
      await run.at(invocation, "row", `reads ${what} ${count}`, async () => undefined);
      yield one;
    }
  };
  return {
    ...event,
    rows: () => each(event.rows(), "row"),
    bytes: () => each(event.bytes(), "chunk"),
    text: () => run.at(invocation, "row", "reads the object as text", () => event.text()),
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
      pass(`requests an upsert into ${table}`);
      context.upsert(table, row);
    },
    delete(table, key) {
      pass(`requests a delete from ${table}`);
      context.delete(table, key);
    },
    sql(statement, params) {
      pass("requests a statement");
      context.sql(statement, params);
    },
    emit(effect) {
      pass("emits an effect");
      context.emit(effect);
    },
  };
}

function worldOf(invocation: Invocation, options: ProbeOptions): HandlerWorld {
  const { run, random, fetch: respond, onUse } = options;
  const { process, record, key } = invocation;
  return {
    now: () => process.clock.now(),
    fraction: () => random.fraction(),
    sleep: (ms) => {
      const span = durationMs(Math.max(0, Number.isFinite(ms) ? Math.trunc(ms) : 0));
      return run.waitFor(invocation, () => process.clock.sleep(span));
    },
    used: (use, call, location) => onUse({ use, call, location }),
    fetch(request) {
      const { method, url, headers, body } = request;
      return run.at(invocation, "call", `sends ${method} ${url}`, async () => {
        run.calls.push({ ...request, record, key });
        const sentBody = method === "GET" || method === "HEAD" ? null : body;
        return respond(new Request(url, { method, headers, body: sentBody }));
      });
    },
  };
}
