// DeadLetter: moves a message that was received too often to the dead-letter queue.
//   L1. The move is one change: the message is never in both queues or in neither.
//   L2. A standard dead letter keeps its id and the time it was sent, and its receive count
//       continues. On a FIFO queue its clock restarts, and its message id becomes its deduplication
//       id, so that the dead-letter queue cannot drop it as a duplicate. The source is stored as an
//       ARN, which stays valid when that queue is deleted or recreated.
//   L3. A redrive policy counts only the receives of its own queue: the second queue of a chain
//       delivers a message as often as its own policy says.

import { type EpochMs, epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { formatDetail, parseDetail } from "./message-detail.ts";
import type { QueueState } from "./queue.ts";

/**
 * The queue to which the next receive would move this message instead of delivering it, or null.
 */
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
