// ReceiveNow: one look at a queue, without waiting.
//   N1. A message that was received too often is moved by the receive that would exceed the limit,
//       never before. One receive moves a limited number and text and then ends; long polls look
//       again.
//   N2. A visibility timeout of zero delivers and counts, and leaves the message visible.
//   N3. When the in-flight limit is reached, a standard queue refuses a receive that does not wait.
//       A long poll gets the messages that are freed meanwhile, and a FIFO queue refuses none.
//   N4. Injected faults: a ready message is skipped for a later one, never two in a row, so that
//       every receive still gets something; and a delivered message stays visible, so that the next
//       receive gets it as well, under its own handle.

import { SQS_IN_FLIGHT_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, type DurationMs, type EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { ReceivedCopy, ReceiveInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { deadLetterTarget, moveToDeadLetters } from "./dead-letter.ts";
import { parseDetail } from "./message-detail.ts";
import type { QueueState } from "./queue.ts";
import { emitReceipt } from "./receipt.ts";
import { recallAttempt, rememberAttempt } from "./receive-attempt.ts";
import { formatSequenceNumber } from "./sequence-number.ts";

/** The most messages that one receive moves to the dead-letter queue (N1). */
export const DEAD_LETTERS_PER_RECEIVE_MAX = 1_000;

export type Received = Result<{ deliveries: ReceivedCopy[] }, Fault>;

/** How long a receive may wait. */
export function waitOf(queue: QueueState, input: ReceiveInput): DurationMs {
  return input.waitMs ?? queue.settings.receiveWaitMs;
}

export function receiveNow(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  input: ReceiveInput,
): Received {
  if (input.attemptId !== null) {
    const recalled = recallAttempt(state, step, queue, input);
    if (recalled !== null && !recalled.ok) return recalled;
    if (recalled !== null)
      return succeed({ deliveries: deliver(state, step, queue, recalled.value) });
  }
  const full = queue.inFlight >= SQS_IN_FLIGHT_MAX;
  if (full && !queue.fifo && waitOf(queue, input) <= 0) {
    // N3
    return refuse("OverLimit", `Too many messages in flight: the limit is ${SQS_IN_FLIGHT_MAX}.`);
  }
  const slots = take(state, step, queue, input);
  if (input.attemptId !== null && slots.length > 0)
    rememberAttempt(state, step, queue, input, slots);
  return succeed({ deliveries: deliver(state, step, queue, slots) });
}

function take(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  input: ReceiveInput,
): number[] {
  const visibilityMs = input.visibilityMs ?? queue.settings.visibilityMs;
  const dueAt = addMs(step.now, visibilityMs);
  const room = Math.min(input.max, SQS_IN_FLIGHT_MAX - queue.inFlight);
  const cursor = queue.openReceive(step.now);
  const slots: number[] = [];
  const faults = state.faults.active && !queue.fifo ? state.faults : null; // N4
  const { name } = queue.record;
  let passedOver = false;
  let moved = 0;
  queue.unfinished = false;
  while (slots.length < room) {
    const slot = cursor.next();
    if (slot === 0) break;
    const target = deadLetterTarget(state, queue, slot);
    if (target !== null) {
      queue.unfinished = moved === DEAD_LETTERS_PER_RECEIVE_MAX || (moved > 0 && step.isFull);
      if (queue.unfinished) break;
      moveToDeadLetters(state, step, queue, slot, target); // N1
      moved += 1;
      continue;
    }
    if (faults !== null) {
      const mayPass: boolean = !passedOver && queue.visible > 1;
      passedOver = mayPass && faults.reorders(name);
      if (passedOver) queue.passOver(slot, step.now); // N4
      if (passedOver) continue;
    }
    queue.take(slot, step.now, dueAt);
    slots.push(slot);
    emitReceipt(state, step, slot);
  }
  for (const slot of slots) {
    const twice = faults?.duplicates("queue", name) === true; // N4
    if (visibilityMs === 0 || twice) queue.release(slot, step.now); // N2
  }
  return slots;
}

function deliver(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  slots: readonly number[],
): ReceivedCopy[] {
  const { slab } = state;
  return slots.map((slot) => {
    const seq = slab.seq.get(slot);
    const receiveCount = slab.receiveCount.get(slot);
    const content = step.read(seq);
    const detail = parseDetail(content.detail);
    const { attributes, traceHeader, dedupId, sourceArn, unsigned } = detail;
    const delivery = {
      messageId: content.id,
      receiptHandle: state.handles.encode(queue.record.number, seq, receiveCount),
      body: content.body,
      attributes,
      traceHeader,
      groupId: queue.groupOf(slot),
      dedupId,
      sequenceNumber: queue.fifo ? formatSequenceNumber(seq) : null,
      sentAt: slab.sentAt.get(slot) as EpochMs,
      firstReceivedAt: slab.firstReceivedAt.get(slot) as EpochMs,
      receiveCount,
      sourceArn,
    };
    return unsigned === undefined ? delivery : { ...delivery, unsigned };
  });
}
