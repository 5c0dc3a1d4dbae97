// Ingest worker: one consumer process, made of production parts, with points at which it is killed
// or frozen. It prints what it does, line by line.
//   W1. Every commit leaves a row in `commits`, written by the same transaction: a record that was
//       committed twice has two rows.
//   W2. Rows contain the name of the process that wrote them.
//   W3. The first SIGTERM drains, the second stops immediately.

import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { S3Client } from "@aws-sdk/client-s3";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createProcessLauncher } from "../../src/adapters/task/process-launcher.ts";
import { createTaskPipeline } from "../../src/adapters/task/task-handler.ts";
import { createS3ObjectSource } from "../../src/aws/s3/s3-object-source.ts";
import { createSqsQueue } from "../../src/aws/sqs/sqs-queue.ts";
import { SINK_FENCE } from "../../src/core/sink-write.ts";
import { durationMs } from "../../src/core/units.ts";
import { type Consumer, createConsumer } from "../../src/ingest/running/consumer.ts";
import { createLeaseRenewer } from "../../src/ingest/running/lease-renewer.ts";
import { type Pipeline, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../src/ingest/spec/handler-errors.ts";
import type {
  HandlerContext,
  MessageInput,
  ObjectInput,
  TableSinkSpec,
} from "../../src/ingest/spec/pipeline-spec.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import { systemPorts } from "../../src/platform/index.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Sink } from "../../src/ports/sink.ts";
import { createRowReader } from "../../src/readers/row-reader.ts";
import { startLeaseThread } from "../../src/run/leases/lease-thread.ts";
import { createFunctionSink } from "../../src/sinks/function/function-sink.ts";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createLambdaConsumer } from "../support/lambda-consumer.ts";
import { createNotebookSink } from "./ingest-notebook-sink.ts";
import { createReach, type PointPlan, type Reach, say, withPoints } from "./ingest-points.ts";

export interface WorkerConfig {
  readonly endpoint: string;
  readonly queueUrl: string;
  readonly deadLetterUrl: string;
  /** Holds ledger.db, and sink.db for function sinks. */
  readonly folder: string;
  readonly owner: string;
  readonly lease: "auto" | "receipt" | "ledger";
  readonly contents: "messages" | "objects";
  /**
   * What runs the pipeline: a consumer, a function with its event source mapping, or a dispatcher
   * with one process per message.
   */
  readonly host: "run" | "lambda" | "task";
  readonly sink: "table" | "function";
  readonly concurrency: number;
  readonly drainMs: number;
  readonly visibilityMs: number;
  readonly plan: PointPlan | null;
  /** Renews leases on a separate thread, as in production; otherwise on the event loop. */
  readonly thread: boolean;
  /** Handlers wait for `release N` or `release all` on standard input. */
  readonly holds: boolean;
  readonly attempts: number;
  /** The cause is repaired: a poison record is handled like any other. */
  readonly repaired: boolean;
}

export interface ReadingPayload {
  readonly n: number;
  /** Poison always fails; flaky fails once. */
  readonly behavior: "good" | "poison" | "flaky";
}

/** The minimum for a pipeline, so that messages of a killed process are redelivered soon. */
export const VISIBILITY_MS = 3_000;
export const PARTS = 4;
const REGION = "us-east-1";
const RETRY_CAP_MS = 200;
const COLUMNS = { n: "integer", part: "integer", owner: "text" } as const;

export function ingestPipeline(config: WorkerConfig, reach: Reach, held: HeldHandlers): Pipeline {
  const { contents, folder, owner, sink } = config;
  const write = ({ upsert, emit }: HandlerContext, n: number, part: number) => {
    const row = { n, part, owner };
    if (sink === "table") upsert("readings", row as never);
    else emit(row);
    if (part === 1) reach("in-handler");
  };
  return pipeline({
    name: "ingest",
    source: { queue: config.queueUrl, contents },
    lease: config.lease,
    concurrency: config.concurrency,
    visibilityMs: config.visibilityMs,
    retry: { attempts: config.attempts, baseMs: 1, capMs: RETRY_CAP_MS },
    onPoison: "skip",
    sink: sink === "table" ? readings() : createNotebookSink(join(folder, "sink.db"), owner),
    async handler(event: MessageInput<unknown> | ObjectInput<unknown>, context: HandlerContext) {
      if ("object" in event) {
        for await (const row of event.rows()) {
          const { n, part } = row as { n: string; part: string };
          write(context, Number(n), Number(part));
        }
        return;
      }
      const { n, behavior } = event.payload as ReadingPayload;
      say(`started ${n}`);
      if (behavior === "poison" && !config.repaired)
        throw new PermanentError(`reading ${n} is poison`);
      if (behavior === "flaky" && context.attempt === 1) throw new Error("the first attempt fails");
      for (let part = 0; part < PARTS / 2; part += 1) write(context, n, part);
      if (config.holds) await held.release(n);
      for (let part = PARTS / 2; part < PARTS; part += 1) write(context, n, part);
    },
  } as never);
}

/**
 * Writes the parts of its reading, like the handler above, without the name of a process. The
 * result of a poison record is not one.
 */
const commandOf = ({ repaired, sink }: WorkerConfig) => `
  const { readFileSync, appendFileSync } = require("node:fs");
  const { payload } = JSON.parse(readFileSync(process.env.TIDEGATE_EVENT_FILE, "utf8"));
  const isPoison = payload.behavior === "poison" && !${repaired};
  for (let part = 0; part < ${PARTS}; part += 1) {
    const row = { n: payload.n, part };
    const upsert = { op: "upsert", table: "readings", row };
    const effect = ${sink === "table"} ? upsert : { op: "emit", value: row };
    const line = isPoison ? "poison" : JSON.stringify(effect);
    appendFileSync(process.env.TIDEGATE_RESULT_FILE, line + "\\n");
  }
`;

/** The same pipeline by tasks; effects name the process that commits them (W2). */
function taskPipeline(config: WorkerConfig, spec: Pipeline, reach: Reach): Pipeline {
  const { folder, owner } = config;
  const launcher = createProcessLauncher(systemPorts.clock, {
    folder: join(folder, "tasks"),
    words: [process.execPath, "-e", commandOf(config)],
    killMs: durationMs(1_000),
  });
  const ports = { clock: systemPorts.clock, launcher };
  const { pipeline: tasks } = createTaskPipeline(ports, spec, { whenStopping: "leave" });
  const written = (row: object) => {
    if ("part" in row && row.part === 1) reach("in-handler");
  };
  return {
    ...tasks,
    handler: (event, context) =>
      tasks.handler(event, {
        ...context,
        upsert(table: string, row: object) {
          context.upsert(table, { ...row, owner } as never);
          written(row);
        },
        emit(row: object) {
          context.emit({ ...row, owner });
          written(row);
        },
      } as HandlerContext),
  };
}

function readings(): TableSinkSpec {
  return tables({ readings: { columns: COLUMNS, key: ["n", "part"] } });
}

/** Handlers that wait to be released. */
export class HeldHandlers {
  readonly #waiting = new Map<number, () => void>();

  release(n: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(n, resolve);
      say(`holding ${n}`);
    });
  }

  onInput(line: string): void {
    const [, which = ""] = line.split(" ");
    const chosen = which === "all" ? [...this.#waiting.keys()] : [Number(which)];
    for (const n of chosen) this.#waiting.get(n)?.();
  }
}

async function openSink(owner: string, spec: Pipeline, path: string): Promise<Sink> {
  if (typeof spec.sink === "function") return createFunctionSink(spec.sink);
  const sink = createTableSink(readings(), { dialect: "sqlite", path });
  await sink.prepare();
  const statement = "INSERT INTO commits (key, owner, fence) VALUES (?, ?, ?)";
  return {
    ...sink,
    plan(effects, origin) {
      const params = [origin.key, owner, SINK_FENCE] as const;
      return [...sink.plan(effects, origin), { statement, params }]; // W1
    },
  };
}

/**
 * Waits for the end of a transaction of the lease thread: a process that freezes in one keeps the
 * lock of the file, and SQLite cannot free it.
 */
function waitForWriteLock(path: string): void {
  using database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec("BEGIN IMMEDIATE; ROLLBACK");
}

async function startWorker(config: WorkerConfig): Promise<void> {
  const { endpoint, queueUrl, deadLetterUrl, owner } = config;
  const path = join(config.folder, "ledger.db");
  const reach = createReach(config.plan, () => waitForWriteLock(path));
  const held = new HeldHandlers();
  const spec = ingestPipeline(config, reach, held);
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new SQSClient({ endpoint, region: REGION, credentials });
  const s3 = new S3Client({ endpoint, region: REGION, credentials, forcePathStyle: true });
  const ledger = createSqliteLedger(systemPorts, { path });
  const sink = await openSink(owner, spec, path);
  const scope = { pipeline: spec.name, generation: spec.generation };
  const leaseMs = spec.visibilityMs;
  const queue = createSqsQueue({ client, queueUrl });
  const terms = { visibilityMs: leaseMs, leaseMs };
  const queueConfig = { queueUrl, endpoint, region: REGION, credentials };
  const renewer = config.thread
    ? await startLeaseThread(
        { telemetry: SILENT },
        { queue: queueConfig, ledgerUrl: `sqlite:${path}`, scope, ...terms },
      )
    : createLeaseRenewer({ ...systemPorts, queue, ledger, scope, telemetry: SILENT }, terms);
  const ports = {
    ...systemPorts,
    queue,
    deadLetters: createSqsQueue({ client, queueUrl: deadLetterUrl }),
    objects: createS3ObjectSource({ client: s3 }),
    rows: createRowReader(systemPorts),
    ledger,
    sink,
    renewer,
    telemetry: SILENT,
  };
  const drainMs = durationMs(config.drainMs);
  const chosen = config.host === "task" ? taskPipeline(config, spec, reach) : spec;
  const options = { pipeline: chosen, owner, runId: owner, drainMs };
  const { visibilityMs } = config;
  const pointed = withPoints(ports, reach);
  const consumer =
    config.host === "lambda"
      ? createLambdaConsumer(pointed, options, { timeoutMs: visibilityMs, visibilityMs })
      : createConsumer(pointed, options);
  endOnSignals(consumer, ledger);
  createInterface({ input: process.stdin }).on("line", (line) => held.onInput(line));
  await consumer.start();
  say("ready");
}

/** W3 */
function endOnSignals(consumer: Consumer, ledger: Ledger): void {
  let signals = 0;
  const end = async (how: "drain" | "stop") => {
    say(how);
    await consumer[how]();
    await ledger.close();
    say("ended");
    process.exit(0);
  };
  process.on("SIGTERM", () => {
    signals += 1;
    void end(signals === 1 ? "drain" : "stop");
  });
}

if (import.meta.main) await startWorker(JSON.parse(process.argv[2] ?? "{}") as WorkerConfig);
