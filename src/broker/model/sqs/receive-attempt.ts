// ReceiveAttempt: a FIFO receive that a client may repeat by its ReceiveRequestAttemptId after a
// lost response.
//   A1. Within five minutes the same id returns the same messages under the same handles and hides
//       them again, as long as none was deleted or had its visibility changed.
//   A2. Once the visibility timeout of its messages is over, the attempt is deleted and the id may
//       be reused.

import { SQS_RECEIVE_ATTEMPT_MS } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, type EpochMs, epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { ReceiveInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { invalidValue } from "./queue-faults.ts";
import { emitReceipt } from "./receipt.ts";
import { SlotState } from "./schedule/message-slab.ts";

export interface ReceiveAttempt {
  readonly queue: number;
  readonly attemptId: string;
  readonly at: EpochMs;
  /** Until when the messages are hidden; another deadline means that a caller changed it. */
  readonly dueAt: EpochMs;
  readonly messages: readonly { readonly seq: number; readonly receiveCount: number }[];
}

function keyOf(queue: number, attemptId: string): string {
  return `${queue}/${attemptId}`;
}

/** The slots of a repeated receive; null if the id is unknown or expired. */
export function recallAttempt(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  input: ReceiveInput,
): Result<number[], Fault> | null {
  const attemptId = input.attemptId ?? "";
  const attempt = state.attempts.get(keyOf(queue.record.number, attemptId));
  if (attempt === undefined) return null;
  const over = step.now >= state.time.due(attempt.at, SQS_RECEIVE_ATTEMPT_MS);
  if (over || step.now >= attempt.dueAt) {
    forgetAttempt(state, step, attempt); // A2
    return null;
  }
  const slots = attempt.messages.map(({ seq, receiveCount }) => {
    const slot = queue.find(seq);
    const same = slot !== 0 && state.slab.receiveCount.get(slot) === receiveCount;
    return same && state.slab.dueAt.get(slot) === attempt.dueAt ? slot : 0;
  });
  if (slots.includes(0)) {
    return invalidValue(
      attemptId,
      "ReceiveRequestAttemptId",
      "The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
    );
  }
  const dueAt = addMs(step.now, input.visibilityMs ?? queue.settings.visibilityMs);
  for (const slot of slots) {
    queue.hide(slot, SlotState.inFlight, dueAt, step.now);
    if (dueAt <= step.now) queue.release(slot, step.now);
    emitReceipt(state, step, slot);
  }
  saveAttempt(state, step, { ...attempt, dueAt });
  return succeed(slots); // A1
}

export function rememberAttempt(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  input: ReceiveInput,
  slots: readonly number[],
): void {
  saveAttempt(state, step, {
    queue: queue.record.number,
    attemptId: input.attemptId ?? "",
    at: step.now,
    dueAt: epochMs(state.slab.dueAt.get(slots[0] ?? 0)),
    messages: slots.map((slot) => ({
      seq: state.slab.seq.get(slot),
      receiveCount: state.slab.receiveCount.get(slot),
    })),
  });
}

function saveAttempt(state: BrokerState, step: ModelStep, attempt: ReceiveAttempt): void {
  const key = keyOf(attempt.queue, attempt.attemptId);
  state.attempts.set(key, attempt);
  const document = { collection: "attempt", key, value: JSON.stringify(attempt) };
  step.emit({ kind: "put-document", document });
}

export function forgetAttempt(state: BrokerState, step: ModelStep, attempt: ReceiveAttempt): void {
  const key = keyOf(attempt.queue, attempt.attemptId);
  state.attempts.delete(key);
  step.emit({ kind: "delete-document", collection: "attempt", key });
}
