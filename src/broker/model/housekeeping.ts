// Housekeeping: erases state that no request can see any more, a little at a time.
//   K1. It changes no answer: everything it erases has already ended.
//   K2. `nextHousekeepingAt` is null while nothing can expire, so that an idle broker sleeps and a
//       virtual clock does not stop every minute. It walks all queues: call it after housekeeping
//       has run, and again only after a change for which `hasHousekeeping` is true.

import {
  SQS_DEDUP_WINDOW_MS,
  SQS_DELETED_NAME_WAIT_MS,
  SQS_RECEIVE_ATTEMPT_MS,
} from "../../core/limits.ts";
import type { RunningTime } from "../../core/running-time.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { Change } from "../../ports/broker/broker-change.ts";
import type { BrokerState } from "./broker-state.ts";
import { nextTopicHousekeepingAt, runTopicHousekeeping } from "./sns/topic-housekeeping.ts";
import type { QueueState } from "./sqs/queue.ts";
import { forgetAttempt } from "./sqs/receive-attempt.ts";
import type { ModelStep } from "./step.ts";

/** The most messages on disk that one step erases. */
const GARBAGE_PER_STEP_MAX = 500;

/** Documents that expire. */
const EXPIRING_COLLECTIONS = new Set(["attempt", "deleted-queue"]);

/** Erases some messages of purged and deleted queues. */
export function sweepGarbage(state: BrokerState, step: ModelStep): void {
  if (state.garbage.length === 0) return;
  for (const seq of state.garbage.splice(-GARBAGE_PER_STEP_MAX)) {
    step.emit({ kind: "delete-message", seq });
  }
}

/** Whether a change creates something that expires (K2). */
export function hasHousekeeping(change: Change): boolean {
  switch (change.kind) {
    case "put-message":
    case "move-message":
    case "put-dedup":
      return true;
    case "put-document":
      return EXPIRING_COLLECTIONS.has(change.document.collection);
    default:
      return false;
  }
}

/** When the next thing expires that housekeeping would erase, or null (K2). */
export function nextHousekeepingAt(state: BrokerState): EpochMs | null {
  let earliest = nextTopicHousekeepingAt(state);
  for (const queue of state.queues.values()) {
    earliest = Math.min(earliest, nextEndIn(queue, state.time));
  }
  for (const { at } of state.attempts.values()) {
    earliest = Math.min(earliest, state.time.due(at, SQS_RECEIVE_ATTEMPT_MS));
  }
  for (const at of state.deletedNames.values()) {
    earliest = Math.min(earliest, state.time.due(at, SQS_DELETED_NAME_WAIT_MS));
  }
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
}

function nextEndIn(queue: QueueState, time: RunningTime): number {
  const sentAt = queue.oldestSentAt;
  const acceptedAt = queue.dedup.oldest();
  if (queue.dedup.popped > 0) return 0;
  return Math.min(
    sentAt === null ? Number.POSITIVE_INFINITY : time.due(sentAt, queue.settings.retentionMs),
    acceptedAt === null ? Number.POSITIVE_INFINITY : time.due(acceptedAt, SQS_DEDUP_WINDOW_MS),
  );
}

/** Visits all queues; the engine limits how often. */
export function runHousekeeping(state: BrokerState, step: ModelStep): void {
  const windowStart = epochMs(state.time.ago(step.now, SQS_DEDUP_WINDOW_MS) + 1);
  for (const queue of state.queues.values()) {
    state.advance(queue, step);
    if (queue.dedup.popped === 0) continue;
    step.emit({ kind: "expire-dedup", queue: queue.record.number, before: windowStart });
    queue.dedup.forgetPopped();
  }
  runTopicHousekeeping(state, step);
  for (const attempt of [...state.attempts.values()]) {
    const over = step.now >= state.time.due(attempt.at, SQS_RECEIVE_ATTEMPT_MS);
    const gone = state.queueByNumber(attempt.queue) === undefined;
    if (over || gone) forgetAttempt(state, step, attempt);
  }
  for (const name of [...state.deletedNames.keys()]) {
    if (state.isDeletedRecently(name, step.now)) continue;
    state.deletedNames.delete(name);
    step.emit({ kind: "delete-document", collection: "deleted-queue", key: name });
  }
}
