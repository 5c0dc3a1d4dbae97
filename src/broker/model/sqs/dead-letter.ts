// DeadLetter: moves a message that was received too often to the queue that collects such.
//   L1. The move is one change: there is no instant at which the message is in both or in neither.
//   L2. A standard dead letter keeps its id and the time it was sent; its receive count goes on.
//       On a FIFO queue its clock starts anew, and its deduplication id becomes its message id, so
//       that the dead-letter queue can not swallow it as a duplicate. Where it came from is told by
//       ARN, and stays true when that queue is deleted or made anew.
//   L3. A redrive policy counts the receives of its own queue only: a message is delivered as often
//       in the second queue of a chain as that queue's policy says.

import { type EpochMs, epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { formatDetail, parseDetail } from "./message-detail.ts";
import type { QueueState } from "./queue.ts";

/** Where the next receive of this message would send it instead of delivering it, if anywhere. */
export function deadLetterTarget(
  state: BrokerState,
  queue: QueueState,
  slot: number,
): QueueState | null {
  const policy = queue.settings.redrive;
  if (policy === null) return null;
  const { slab } = state;
  const receives = slab.receiveCount.get(slot) - slab.arrivalCount.get(slot); // L3
  if (receives < policy.maxReceiveCount) return null;
  const target = state.queueByArn(policy.targetArn);
  return target !== undefined && target.fifo === queue.fifo ? target : null;
}

export function moveToDeadLetters(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  slot: number,
  target: QueueState,
): void {
  const old = state.headOf(queue, slot);
  const head = {
    ...old,
    seq: state.nextSeq(),
    queue: target.record.number,
    sentAt: queue.fifo ? step.now : old.sentAt, // L2
    dueAt: step.now,
    receivedAt: epochMs(0) as EpochMs,
    arrivalCount: old.receiveCount,
  };
  queue.remove(slot, step.now);
  target.insert(head, step.now);
  const content = step.read(old.seq);
  const detail = formatDetail({
    ...parseDetail(content.detail),
    dedupId: queue.fifo ? content.id : null,
    sourceArn: state.arnOf(queue.record.name),
  });
  step.emit({ kind: "move-message", from: old.seq, head, id: null, detail }); // L1
}
