// Housekeeping: forgets what nobody can ask for any more, a little at a time.
//   K1. Nothing here changes any answer: everything it erases has ended already.
//   K2. `nextHouseworkAt` is null while there is nothing to wait for, so that an idle broker sleeps
//       and a virtual clock does not stop every minute for nothing. It walks all queues: ask it
//       after the rounds, and when there was nothing and a change `bringsHousework`.

import type { Change } from "../../core/broker-change.ts";
import {
  SQS_DEDUP_WINDOW_MS,
  SQS_DELETED_NAME_WAIT_MS,
  SQS_RECEIVE_ATTEMPT_MS,
} from "../../core/limits.ts";
import { addMs, type EpochMs, epochMs } from "../../core/units.ts";
import type { BrokerState } from "./broker-state.ts";
import { keepTopics, nextTopicHousekeepingAt } from "./sns/topic-housekeeping.ts";
import type { QueueState } from "./sqs/queue.ts";
import { forgetAttempt } from "./sqs/receive-attempt.ts";
import type { ModelStep } from "./step.ts";

/** How many messages on disk one step erases at the most. */
const GARBAGE_PER_STEP_MAX = 500;

/** Documents that are forgotten after a while. */
const HOUSEWORK_COLLECTIONS = new Set(["attempt", "deleted-queue"]);

/** Erases some of what purges and deleted queues have left. */
export function sweepGarbage(state: BrokerState, step: ModelStep): void {
  if (state.garbage.length === 0) return;
  for (const seq of state.garbage.splice(-GARBAGE_PER_STEP_MAX)) {
    step.emit({ kind: "delete-message", seq });
  }
}

/** Whether something begins with this change that will end by itself one day (K2). */
export function hasHousekeeping(change: Change): boolean {
  switch (change.kind) {
    case "put-message":
    case "move-message":
    case "put-dedup":
      return true;
    case "put-document":
      return HOUSEWORK_COLLECTIONS.has(change.document.collection);
    default:
      return false;
  }
}

/** When the next thing ends that housekeeping would erase (K2). */
export function nextHousekeepingAt(state: BrokerState): EpochMs | null {
  let earliest = nextTopicHousekeepingAt(state);
  for (const queue of state.queues.values()) {
    earliest = Math.min(earliest, nextEndIn(queue));
  }
  for (const { at } of state.attempts.values()) {
    earliest = Math.min(earliest, addMs(at, SQS_RECEIVE_ATTEMPT_MS));
  }
  for (const at of state.deletedNames.values()) {
    earliest = Math.min(earliest, addMs(at, SQS_DELETED_NAME_WAIT_MS));
  }
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(earliest);
}

function nextEndIn(queue: QueueState): number {
  const sentAt = queue.oldestSentAt;
  const acceptedAt = queue.dedup.oldest();
  if (queue.dedup.popped > 0) return 0;
  return Math.min(
    sentAt === null ? Number.POSITIVE_INFINITY : addMs(sentAt, queue.settings.retentionMs),
    acceptedAt === null ? Number.POSITIVE_INFINITY : addMs(acceptedAt, SQS_DEDUP_WINDOW_MS),
  );
}

/** The rounds over all queues; the engine sees to it that they are not made too often. */
export function runHousekeeping(state: BrokerState, step: ModelStep): void {
  const windowStart = epochMs(step.now - SQS_DEDUP_WINDOW_MS + 1);
  for (const queue of state.queues.values()) {
    state.advance(queue, step);
    if (queue.dedup.popped === 0) continue;
    step.emit({ kind: "expire-dedup", queue: queue.record.number, before: windowStart });
    queue.dedup.forgetPopped();
  }
  keepTopics(state, step);
  for (const attempt of [...state.attempts.values()]) {
    const over = step.now >= addMs(attempt.at, SQS_RECEIVE_ATTEMPT_MS);
    const gone = state.queueByNumber(attempt.queue) === undefined;
    if (over || gone) forgetAttempt(state, step, attempt);
  }
  for (const name of [...state.deletedNames.keys()]) {
    if (state.isDeletedRecently(name, step.now)) continue;
    state.deletedNames.delete(name);
    step.emit({ kind: "delete-document", collection: "deleted-queue", key: name });
  }
}
