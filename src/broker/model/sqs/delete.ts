// Delete: deletes received messages.
//   D1. Deleting a message that no longer exists succeeds.
//   D2. Standard: every handle of the message deletes it: the latest one, also after its visibility
//       timeout, and earlier ones, although the message was received again since, as on AWS.
//   D3. FIFO: a handle whose visibility timeout is over is refused.

import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { expiredHandle, invalidHandle, missingQueue } from "./queue-faults.ts";

export function deleteMessages(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string; handles: readonly string[] },
): Result<{ faults: (Fault | null)[] }, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  return succeed({ faults: input.handles.map((handle) => deleteOne(state, step, queue, handle)) });
}

function deleteOne(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  text: string,
): Fault | null {
  const handle = state.handles.decode(text);
  if (handle === null || handle.queue !== queue.record.number) return invalidHandle(text).fault;
  const slot = queue.find(handle.seq);
  if (slot === 0) return null; // D1
  const latest = state.slab.receiveCount.get(slot) === handle.receiveCount;
  if (queue.fifo && !(latest && queue.isInFlight(slot))) {
    return expiredHandle(text).fault; // D3
  }
  step.emit({ kind: "delete-message", seq: handle.seq });
  queue.remove(slot, step.now);
  return null;
}
