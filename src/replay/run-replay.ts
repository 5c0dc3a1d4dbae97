// Run replay: takes frozen inputs through the stages of the pipeline again.
//   N1. The queue is not touched: deliveries are built from the inputs, and dead letters stay in
//       the ledger of the replay's generation.
//   N2. Inputs run in their order. Two events of one object are never in flight together, so each
//       version is applied, whatever the concurrency.
//   N3. A record keeps the lane, the event time and the partition that were recorded for it.
//       Nothing is held as too late.
//   N4. A record that is committed in the replay's generation is not run again: a run that was
//       killed continues where it was.
//   N5. Backoffs are short: no one else waits for these records.
//   N6. An event that is older than what the replay applied to its object is superseded. The ledger
//       has no commit of it, so the run counts it.
//   N7. Messages of a FIFO queue run one after another, in the order of the replay.
//   N8. A message is not archived again: the replayed record refers to the same object.
//   N9. A replay into the live tables waits while the live pipeline is paused, as a backfill does
//       (pause-gate.ts). One into a shadow changes nothing that is live, and runs during a pause.

import { assert } from "../core/assert.ts";
import { TidegateError } from "../core/errors.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../core/units.ts";
import {
  type BatchRunner,
  type BatchRunnerPorts,
  createBatchRunner,
} from "../ingest/running/batch-runner.ts";
import type { Pause } from "../ingest/running/pause.ts";
import { createPauseGate, OPEN_GATE, type PauseGate } from "../ingest/running/pause-gate.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { everyRecord } from "../ledger/every-record.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { MessageArchive } from "../ports/message-archive.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import type { Delivery, Queue } from "../ports/queue-receiver.ts";
import type { LedgerScope, RecordKey } from "../ports/record.ts";
import { readArchivedMessage } from "./archived-messages.ts";
import { forbiddenVersion } from "./check-versions.ts";
import {
  archivedDelivery,
  deliveryOf,
  type ReplayInput,
  receiptOf,
  replayedObject,
} from "./replay-input.ts";
import { withSourceKeys } from "./source-keys.ts";

export type ReplayPorts = Omit<BatchRunnerPorts, "queue" | "deadLetters" | "lateQueue">;

export interface ReplayOptions {
  /** The pipeline, with the generation of its live records. */
  readonly pipeline: Pipeline;
  readonly generation: number;
  readonly run: string;
  readonly owner: string;
  readonly concurrency: number | null;
  /** Whether it writes to the live tables, so that a pause holds it (N9). Default: false. */
  readonly intoLive?: boolean;
  /** Called when a pause makes it wait, and with null when it continues. */
  readonly onPause?: ((pause: Pause | null) => void) | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReplayProgress) => void;
  /** Asked after every batch, and while a pause lasts. */
  readonly isCancelled: () => Promise<boolean>;
}

/** How far a replay is. */
export interface ReplayProgress {
  readonly done: number;
  readonly of: number;
  /** Since the start of this process. */
  readonly elapsedMs: number;
  /** Null until it can be estimated. */
  readonly remainingMs: number | null;
}

/** How a replay ended, from the ledger. */
export interface ReplayOutcome {
  readonly how: "complete" | "failed" | "cancelled" | "stopped";
  readonly committed: number;
  readonly superseded: number;
  /** Records that the handler or the sink rejected, with the reason of the first few. */
  readonly failed: number;
  readonly failures: readonly { readonly uri: string; readonly reason: string }[];
}

const BATCHES_PER_WORKER = 25;
const BATCH_MAX = 1_000;
/** Bodies in memory at once. */
const MESSAGES_MAX = 100;
const WORK_MS_MIN: DurationMs = minutes(1);
const SETTLE_MS: DurationMs = seconds(30);
const BACKOFF_BASE_MS = 100;
const BACKOFF_CAP_MS = 2_000;
const FAILURES_SHOWN = 5;

export async function runReplay(
  ports: ReplayPorts,
  inputs: readonly ReplayInput[],
  options: ReplayOptions,
): Promise<ReplayOutcome> {
  const { clock, ledger } = ports;
  const { pipeline, generation, run, owner, signal } = options;
  const scope: LedgerScope = { pipeline: pipeline.name, generation };
  const byKey = new Map(inputs.map((input) => [recordKey(scope, input.identity), input]));
  const ended = await endedIn(ledger, scope, byKey); // N4
  const open = inputs.filter(({ identity }) => !ended.has(recordKey(scope, identity)));
  const replayed = replayedPipeline(pipeline, options);
  const runner = createBatchRunner(
    {
      ...ports,
      queue: { name: "replay", fifo: isFifo(pipeline) }, // N7
      deadLetters: NO_QUEUE, // N1
      sink: ports.sink && withSourceKeys(ports.sink, sourceKeys(byKey)),
      archive: sameArchive(byKey), // N8
    },
    {
      pipeline: replayed,
      owner,
      runId: run,
      laneOf: laneOf(byKey),
      timeOf: ({ key }) => byKey.get(key) ?? null,
    },
  );
  await runner.start();
  try {
    const since = clock.monotonic();
    const settled = new Set<string>();
    let done = 0;
    let cancelled = false;
    const isOver = async () => {
      cancelled = await options.isCancelled();
      return cancelled;
    };
    const gate = gateOf(ports, options, isOver);
    for (const batch of batchesOf(open, batchSize(replayed))) {
      if (signal.aborted || cancelled) break;
      await runBatch(ports, runner, batch, { pipeline, signal, settled, gate });
      if (cancelled || signal.aborted) break; // The batch may not have begun.
      done += batch.length;
      const elapsedMs = clock.monotonic() - since;
      const remainingMs = (elapsedMs / done) * (open.length - done);
      const counted = done + inputs.length - open.length;
      options.onProgress({ done: counted, of: inputs.length, elapsedMs, remainingMs });
      await isOver();
    }
    return await outcomeOf(ledger, scope, byKey, { cancelled, total: inputs.length, settled });
  } finally {
    runner.close();
  }
}

/** N9 */
function gateOf(
  ports: ReplayPorts,
  { pipeline, intoLive = false, onPause }: ReplayOptions,
  isOver: () => Promise<boolean>,
): PauseGate {
  if (!intoLive) return OPEN_GATE;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  return createPauseGate(ports, { scope, isOver, onChange: onPause });
}

/** The pipeline as a replay runs it (N3, N5). */
function replayedPipeline(pipeline: Pipeline, options: ReplayOptions): Pipeline {
  const { retry, concurrency } = pipeline;
  return {
    ...pipeline,
    generation: options.generation,
    eventTime: { ...pipeline.eventTime, late: "process" },
    onPoison: "skip",
    retry: {
      ...retry,
      baseMs: durationMs(Math.min(retry.baseMs, BACKOFF_BASE_MS)),
      capMs: durationMs(Math.min(retry.capMs, BACKOFF_CAP_MS)),
    },
    concurrency: { ...concurrency, total: options.concurrency ?? concurrency.total },
  };
}

function sourceKeys(byKey: ReadonlyMap<RecordKey, ReplayInput>) {
  return (key: RecordKey): RecordKey => byKey.get(key)?.key ?? key;
}

function laneOf(byKey: ReadonlyMap<RecordKey, ReplayInput>) {
  return ({ key }: { readonly key: RecordKey }) =>
    byKey.get(key)?.lane ?? ({ lane: "live", watermark: null } as const);
}

function isFifo({ source: { queue, contents } }: Pipeline): boolean {
  return contents === "messages" && queue !== null && queue.endsWith(".fifo");
}

/** N8 */
function sameArchive(byKey: ReadonlyMap<RecordKey, ReplayInput>): MessageArchive {
  return {
    async keep(key) {
      const input = byKey.get(key);
      assert(input?.kind === "message", "only archived messages are replayed");
      return replayedObject(input);
    },
  };
}

function batchSize({ concurrency: { total }, source: { contents } }: Pipeline): number {
  const max = contents === "messages" ? MESSAGES_MAX : BATCH_MAX;
  return Math.min(Math.max(total * BATCHES_PER_WORKER, 1), max);
}

/** N2: a batch ends before an object that it already has. */
function* batchesOf(inputs: readonly ReplayInput[], size: number): Generator<ReplayInput[]> {
  let batch: ReplayInput[] = [];
  let names = new Set<string>();
  for (const input of inputs) {
    const name = replayedObject(input);
    if (batch.length >= size || names.has(name)) {
      yield batch;
      [batch, names] = [[], new Set()];
    }
    batch.push(input);
    names.add(name);
  }
  if (batch.length > 0) yield batch;
}

/** Runs a batch until every record has an outcome, or the replay is stopped. */
async function runBatch(
  { clock, objects }: ReplayPorts,
  runner: BatchRunner,
  batch: readonly ReplayInput[],
  {
    pipeline,
    signal,
    settled,
    gate,
  }: {
    readonly pipeline: Pipeline;
    readonly signal: AbortSignal;
    readonly gate: PauseGate;
    /** Gets the receipts of the deliveries that are done, without their numbers. */
    readonly settled: Set<string>;
  },
): Promise<void> {
  const workMs = durationMs(Math.max(pipeline.timeoutMs * 2, WORK_MS_MIN));
  const time = { workMs, totalMs: durationMs(workMs + SETTLE_MS) };
  let open = await Promise.all(batch.map((input) => firstDelivery(objects, input, signal)));
  while (open.length > 0 && !signal.aborted) {
    if (!(await gate.passes(signal))) return;
    const results = await gate.run(runner, open, time);
    const failed = results.filter(({ settlement }) => settlement.kind !== "delete");
    for (const { delivery, settlement } of results) {
      if (settlement.kind === "delete") settled.add(withoutCount(delivery.receipt));
    }
    if (failed.length === 0) return;
    const delays = failed.map(({ settlement }) =>
      settlement.kind === "return" ? settlement.delayMs : BACKOFF_CAP_MS,
    );
    open = failed.map(({ delivery }) => nextDelivery(delivery));
    const delayMs = durationMs(Math.min(...delays, BACKOFF_CAP_MS));
    await clock.sleep(delayMs, signal).catch(() => undefined);
  }
}

async function firstDelivery(
  objects: ObjectSource | null,
  input: ReplayInput,
  signal: AbortSignal,
): Promise<Delivery> {
  if (input.kind !== "message") return deliveryOf(input, 1);
  assert(objects !== null, "archived messages are read from a bucket");
  const read = await readArchivedMessage(objects, input, signal);
  if (read.kind === "message") return archivedDelivery(input, read.message);
  if (read.kind === "forbidden") throw forbiddenVersion(input, read.reason);
  const message = `${replayedObject(input)} ${read.reason}; restore it, and start the same replay again`;
  throw new TidegateError("TG_REPLAY_REFUSED", message);
}

function withoutCount(receipt: string): string {
  return receipt.replace(/ \d+$/, "");
}

function nextDelivery<D extends { readonly receipt: string; readonly receiveCount: number }>(
  delivery: D,
): D {
  const receiveCount = delivery.receiveCount + 1;
  const receipt = delivery.receipt.replace(/\d+$/, String(receiveCount));
  return { ...delivery, receipt, receiveCount };
}

/** Committed records (N4); failed ones are reopened, to be tried again. */
async function endedIn(
  ledger: Ledger,
  scope: LedgerScope,
  byKey: ReadonlyMap<RecordKey, ReplayInput>,
): Promise<Set<RecordKey>> {
  const ended = new Set<RecordKey>();
  for await (const { key, record } of everyRecord(ledger, scope, { by: "event-time" })) {
    if (!byKey.has(key)) continue;
    if (record.kind === "committed") ended.add(key);
    if (record.kind === "parked") await ledger.reopen(scope, [key]);
  }
  return ended;
}

async function outcomeOf(
  ledger: Ledger,
  scope: LedgerScope,
  byKey: ReadonlyMap<RecordKey, ReplayInput>,
  {
    cancelled,
    total,
    settled,
  }: {
    readonly cancelled: boolean;
    readonly total: number;
    readonly settled: ReadonlySet<string>;
  },
): Promise<ReplayOutcome> {
  let [committed, superseded, failed] = [0, 0, 0];
  const failures: { uri: string; reason: string }[] = [];
  const ended = new Set<RecordKey>();
  for await (const { key, record } of everyRecord(ledger, scope, { by: "event-time" })) {
    const input = byKey.get(key);
    if (input === undefined) continue;
    if (record.kind === "committed" || record.kind === "parked") ended.add(key);
    if (record.kind === "committed") {
      if (record.superseded) superseded += 1;
      else committed += 1;
    }
    if (record.kind !== "parked") continue;
    failed += 1;
    if (failures.length < FAILURES_SHOWN) {
      failures.push({ uri: replayedObject(input), reason: record.failure.message });
    }
  }
  for (const [key, input] of byKey) {
    const name = withoutCount(receiptOf(input.key, 1));
    if (!ended.has(key) && settled.has(name)) superseded += 1; // N6
  }
  const isDone = committed + superseded + failed >= total;
  const how = isDone ? (failed > 0 ? "failed" : "complete") : cancelled ? "cancelled" : "stopped";
  return { how, committed, superseded, failed, failures };
}

/** A dead-letter queue that keeps nothing: the ledger has the dossiers (N1). */
const NO_QUEUE: Queue = {
  kind: "queue",
  limits: { entriesMax: 10, messageBytesMax: 1_048_576, batchBytesMax: 1_048_576 },
  name: "replay-dead-letters",
  fifo: false,
  sendBatch: async (messages) =>
    messages.map(() => ({ kind: "sent", messageId: "replay", sequenceNumber: null })),
  receive: async () => [],
  deleteBatch: async (receipts) => receipts.map(() => ({ kind: "done" })),
  changeVisibility: async (changes) => changes.map(() => ({ kind: "done" })),
  facts: async () => {
    throw new Error("a replay has no queue");
  },
};
