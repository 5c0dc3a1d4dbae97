// Lambda handler: answers one invocation of a function with the outcome of its deliveries.
//   L1. An SQS batch is answered with the ids of the messages that are not done, so that Lambda
//       deletes the others only. A batch of a FIFO queue stops at its first failure (N4 of
//       batch-runner.ts).
//   L2. An asynchronous invocation of S3 or SNS has no such answer. What fails is tried again
//       within the invocation. What is not done at its end fails the invocation: Lambda repeats the
//       whole event, and committed records are duplicates then.
//   L3. Attempts end before the invocation does, so that there is time to write their outcomes.
//   L4. An invocation fails as a whole only if nothing was done (the event is unknown, the ledger
//       cannot be opened), for L2, or if `partialFailures` is "throw".
//   L5. Ledger, sink and clients are opened by the first invocation and reused by the next ones. If
//       opening fails, the next invocation tries again.
//   L6. A failed message becomes visible after its backoff, if the function may change that. If
//       not, it waits for the queue's visibility timeout.
//   L7. While the pipeline is paused, an SQS batch is answered with all its messages, which stay
//       hidden for PAUSED_MS. Direct events have no queue to wait in and Lambda would drop them
//       after some attempts, so they are processed in spite of a pause.

import { TidegateError } from "../../core/errors.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import {
  type BatchResult,
  type BatchRunner,
  type BatchRunnerPorts,
  createBatchRunner,
} from "../../ingest/running/batch-runner.ts";
import { createPauseWatch, type PauseWatch } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { createSettler, type Settlement } from "../../ingest/stages/settle.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Delivery, Queue } from "../../ports/queue-receiver.ts";
import { type LambdaBatch, readLambdaEvent } from "./lambda-event.ts";

/** The part of Lambda's context that the handler uses. */
export interface LambdaContext {
  /** Milliseconds until Lambda ends the invocation. */
  getRemainingTimeInMillis(): number;
  readonly awsRequestId?: string;
  readonly functionName?: string;
}

/** The answer to an SQS batch: the messages that Lambda must not delete. */
export interface LambdaResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

/** A function for Lambda. */
export interface LambdaHandler {
  (event: unknown, context: LambdaContext): Promise<LambdaResponse | undefined>;
  /** Opens ledger and sink before the first invocation. */
  open(): Promise<void>;
  /** Closes everything that is open; for tests. */
  close(): Promise<void>;
}

/** How an SQS batch is answered if some of its messages are not done. */
export type PartialFailures = "report" | "throw";

export interface InvocationOptions {
  /** Time at the end of an invocation in which nothing is attempted (L3). */
  readonly settleMs?: DurationMs | undefined;
  readonly partialFailures: PartialFailures;
}

/** An opened source of events. */
export interface LambdaSource {
  readonly ports: Omit<BatchRunnerPorts, "queue">;
  /** The queue of an SQS batch; for direct events, their name only. */
  readonly queue: Pick<Queue, "name" | "fifo">;
  /** Null for direct events. */
  readonly settling: Queue | null;
  readonly owner: string;
  readonly runId: string;
}

/** What the handler runs on; opened once (L5). */
export interface LambdaHost {
  readonly clock: Clock;
  open(): Promise<void>;
  /** Null opens the source of direct events. */
  openSource(arn: string | null, functionName: string): Promise<LambdaSource>;
  close(): Promise<void>;
}

/** Used if the context does not know: the longest time that Lambda grants. */
const INVOCATION_MS_MAX: DurationMs = minutes(15);
const SETTLE_SHARE = 0.1;
const SETTLE_MS_MIN: DurationMs = durationMs(500);
const SETTLE_MS_MAX: DurationMs = seconds(5);
/** The share of the settling time that belongs to outcomes; the rest to visibility changes. */
const OUTCOME_SHARE = 0.6;
/** How long messages stay hidden while the pipeline is paused: each return counts as a receive. */
const PAUSED_MS: DurationMs = minutes(5);
/** Rounds of attempts at direct events within one invocation (L2). */
const ROUNDS_MAX = 100;

/** The answer to an event without records. */
const NOTHING_FAILED: LambdaResponse = { batchItemFailures: [] };

interface OpenSource extends LambdaSource {
  readonly runner: BatchRunner;
  readonly pause: PauseWatch;
}

export function createLambdaHandler(
  pipeline: Pipeline,
  options: InvocationOptions,
  host: LambdaHost,
): LambdaHandler {
  const { clock } = host;
  const sources = new Map<string, Promise<OpenSource>>();

  async function openRunner(arn: string | null, functionName: string): Promise<OpenSource> {
    const source = await host.openSource(arn, functionName);
    const { ports, queue, owner, runId } = source;
    // Only a claim counts the attempts of direct events: no queue does.
    const spec: Pipeline = arn === null ? { ...pipeline, lease: "ledger" } : pipeline;
    const runner = createBatchRunner({ ...ports, queue }, { pipeline: spec, owner, runId });
    await runner.start();
    const scope = { pipeline: pipeline.name, generation: pipeline.generation };
    const pause = createPauseWatch({ ...ports, clock }, { scope, queue: queue.name });
    return { ...source, runner, pause };
  }

  function sourceOf(batch: LambdaBatch, functionName: string): Promise<OpenSource> {
    const arn = batch.kind === "queue" ? batch.arn : null;
    const name = arn ?? "";
    const opened = sources.get(name) ?? openRunner(arn, functionName);
    sources.set(name, opened); // L5
    opened.catch(() => sources.delete(name));
    return opened;
  }

  const invoke = async (event: unknown, context: LambdaContext) => {
    const since = clock.monotonic();
    const remainingMs = remainingOf(context);
    const { awsRequestId: requestId = "unknown", functionName = "lambda" } = context ?? {};
    const batch = readLambdaEvent(event, { requestId, now: clock.now() });
    if (batch.deliveries.length === 0) return NOTHING_FAILED;
    const source = await sourceOf(batch, functionName);
    const budget = createBudget(clock, since, remainingMs, options);
    const { deliveries } = batch;
    if (batch.kind === "direct") {
      await runDirect(clock, source, deliveries, budget);
      return undefined;
    }
    await withinMs(clock, budget.batch().workMs, source.pause.refresh());
    const isPaused = source.pause.current() !== null;
    const results = isPaused
      ? deliveries.map(returnPaused) // L7
      : await source.runner.run(deliveries, budget.batch());
    return answer(clock, source, results, budget, options.partialFailures);
  };
  return Object.assign(invoke, {
    open: () => host.open(),
    async close() {
      for (const opened of sources.values()) (await opened).runner.close();
      sources.clear();
      await host.close();
    },
  });
}

function returnPaused(delivery: Delivery): BatchResult {
  return { delivery, settlement: { kind: "return", delayMs: PAUSED_MS } };
}

function remainingOf(context: LambdaContext | undefined): number {
  const remainingMs = context?.getRemainingTimeInMillis?.();
  return typeof remainingMs === "number" && remainingMs >= 0 ? remainingMs : INVOCATION_MS_MAX;
}

/** How the time of an invocation is spent (L3). */
interface Budget {
  batch(): { readonly workMs: DurationMs; readonly totalMs: DurationMs };
  /** Until the end of the invocation. */
  remainingMs(): DurationMs;
}

function createBudget(
  clock: Clock,
  since: number,
  totalMs: number,
  { settleMs }: InvocationOptions,
): Budget {
  const share = Math.min(Math.max(totalMs * SETTLE_SHARE, SETTLE_MS_MIN), SETTLE_MS_MAX);
  const reserveMs = settleMs ?? share;
  const until = (spanMs: number) =>
    durationMs(Math.max(0, Math.floor(spanMs - (clock.monotonic() - since))));
  return {
    batch: () => ({
      workMs: until(totalMs - reserveMs),
      totalMs: until(totalMs - reserveMs * (1 - OUTCOME_SHARE)),
    }),
    remainingMs: () => until(totalMs),
  };
}

/** L1 */
async function answer(
  clock: Clock,
  { ports, settling }: LambdaSource,
  results: readonly BatchResult[],
  budget: Budget,
  partialFailures: PartialFailures,
): Promise<LambdaResponse | undefined> {
  const failed = results.filter(({ settlement }) => settlement.kind !== "delete");
  const reports = partialFailures === "report";
  const toSettle = results.filter(({ settlement: { kind } }) =>
    kind === "delete" ? !reports && failed.length > 0 : kind === "return",
  );
  if (settling !== null && toSettle.length > 0) {
    const settler = createSettler({ ...ports, queue: settling }, () => undefined);
    for (const { delivery, settlement } of toSettle) settler.settle(delivery, settlement); // L6
    await withinMs(clock, budget.remainingMs(), settler.flush());
  }
  if (reports) {
    const failures = failed.map(({ delivery }) => ({ itemIdentifier: delivery.messageId }));
    return { batchItemFailures: failures };
  }
  if (failed.length === 0) return undefined;
  throw incomplete(failed.length, results.length);
}

/** L2 */
async function runDirect(
  clock: Clock,
  { runner }: OpenSource,
  deliveries: readonly Delivery[],
  budget: Budget,
): Promise<void> {
  let open = deliveries;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const results = await runner.run(open, budget.batch());
    const failed = results.filter(({ settlement }) => settlement.kind !== "delete");
    if (failed.length === 0) return;
    const delayMs = Math.min(...failed.map(({ settlement }) => delayOf(settlement)));
    open = failed.map(({ delivery }) => {
      return { ...delivery, receiveCount: delivery.receiveCount + 1 };
    });
    if (delayMs >= budget.batch().workMs) break;
    await clock.sleep(durationMs(delayMs));
  }
  throw incomplete(open.length, deliveries.length);
}

function delayOf(settlement: Settlement): number {
  return settlement.kind === "return" ? settlement.delayMs : Number.POSITIVE_INFINITY;
}

function incomplete(failed: number, all: number): TidegateError {
  const message = `${failed} of ${all} messages of the event were not processed`;
  return new TidegateError("TG_BATCH_INCOMPLETE", message);
}

/** Resolves when `ended` does, or when the time is up. */
async function withinMs(clock: Clock, spanMs: DurationMs, ended: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  const timer = clock.sleep(spanMs, waited.signal).catch(() => undefined);
  await Promise.race([ended, timer]);
  waited.abort();
}
