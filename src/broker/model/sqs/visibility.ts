// Visibility: hides a received message for longer, or shows it immediately.
//   V1. Standard: any handle of the message is accepted, and a message that is visible again is
//       hidden again.
//   V2. FIFO: only the latest handle is accepted.
//   V3. No message is hidden for more than twelve hours after its receive.
//   V4. `reveal` shows a message without its handle: an operator has none. Its present handle can
//       still delete it, as after its visibility timeout, but not hide it before its next receive:
//       a consumer that has just failed would undo what the operator asked for.

import { SQS_VISIBILITY_MS_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { VisibilityEntry } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { expiredHandle, invalidHandle, invalidValue, missingQueue } from "./queue-faults.ts";
import { emitReceipt } from "./receipt.ts";
import { SlotState } from "./schedule/message-slab.ts";

/** The receive time of a message that was revealed since its last receive (V4). */
const REVEALED = epochMs(1);

const NOT_AVAILABLE = "Message does not exist or is not available for visibility timeout change.";
const TOO_LONG =
  "Total VisibilityTimeout for the message is beyond the limit " +
  `[${SQS_VISIBILITY_MS_MAX / 1_000} seconds]`;

export function changeVisibility(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string; entries: readonly VisibilityEntry[] },
): Result<{ faults: (Fault | null)[] }, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  return succeed({ faults: input.entries.map((entry) => changeOne(state, step, queue, entry)) });
}

/** V4 */
export function reveal(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string; seq: number },
): Result<{ revealed: boolean }, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const slot = queue.find(input.seq);
  const revealed = slot !== 0 && queue.isInFlight(slot);
  if (revealed) {
    state.slab.dueAt.set(slot, step.now);
    queue.release(slot, step.now);
    state.slab.receivedAt.set(slot, REVEALED);
    emitReceipt(state, step, slot);
  }
  return succeed({ revealed });
}

function changeOne(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  entry: VisibilityEntry,
): Fault | null {
  const { handle: text, visibilityMs } = entry;
  const { slab } = state;
  const handle = state.handles.decode(text);
  if (handle === null || handle.queue !== queue.record.number) return invalidHandle(text).fault;
  const slot = queue.find(handle.seq);
  if (slot === 0) return invalidValue(text, "ReceiptHandle", NOT_AVAILABLE).fault;
  if (queue.fifo && slab.receiveCount.get(slot) !== handle.receiveCount) {
    return expiredHandle(text).fault; // V2
  }
  if (slab.receivedAt.get(slot) === REVEALED) {
    // V4. It is visible, so there is nothing to show.
    return visibilityMs > 0 ? invalidValue(text, "ReceiptHandle", NOT_AVAILABLE).fault : null;
  }
  const dueAt = addMs(step.now, visibilityMs);
  if (dueAt - slab.receivedAt.get(slot) > SQS_VISIBILITY_MS_MAX) {
    return invalidValue(String(visibilityMs / 1_000), "VisibilityTimeout", TOO_LONG).fault; // V3
  }
  const inFlight = queue.isInFlight(slot);
  if (visibilityMs > 0) {
    queue.hide(slot, SlotState.inFlight, dueAt, step.now); // V1
  } else if (inFlight) {
    slab.dueAt.set(slot, dueAt);
    queue.release(slot, step.now);
  }
  if (visibilityMs > 0 || inFlight) emitReceipt(state, step, slot);
  return null;
}
