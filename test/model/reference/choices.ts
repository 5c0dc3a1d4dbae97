// Choices: all that AWS leaves open. The reference asks for each where it arises, so that one
// body of rules serves twice: choosing by itself (a naive broker), or following what another
// broker was seen to choose (a judge).

import type { RefMessage, RefQueue } from "./state.ts";

/** Where a choice is made that the rules do not allow. */
export class Illegal extends Error {}

export interface Choices {
  /** The identity of a newly accepted message. */
  sent(queue: RefQueue, index: number): { messageId: string; sequenceNumber: string | null };
  /** Which of the candidates a receive turns to next, or null when it ends. */
  pick(queue: RefQueue, candidates: readonly RefMessage[], takenCount: number): RefMessage | null;
  /** What a delivery carries that no rule tells. `index` is its place in the answer. */
  delivered(
    message: RefMessage,
    index: number,
  ): { receiptHandle: string; sequenceNumber: string | null; dedupId: string | null };
  /** The new sequence number of a dead letter on a FIFO queue, or null while it is unseen. */
  deadLettered(target: RefQueue): string | null;
  /** The new identity of a redriven message. */
  redriven(
    message: RefMessage,
    target: RefQueue,
  ): { messageId: string; sequenceNumber: string | null; sentAt: number };
  taskStarted(): string;
}

/** Chooses like the plainest broker there is: oldest first, ids that count up. */
export function createPlainChoices(next: () => number, now: () => number): Choices {
  const id = () => `00000000-0000-4000-8000-${String(next()).padStart(12, "0")}`;
  const sequence = (queue: RefQueue) =>
    queue.name.endsWith(".fifo") ? String(next()).padStart(20, "0") : null;
  return {
    sent: (queue) => ({ messageId: id(), sequenceNumber: sequence(queue) }),
    pick: (_queue, candidates) => candidates[0] ?? null,
    delivered: (message) => ({
      receiptHandle: `handle-${message.messageId}-${next()}`,
      sequenceNumber: message.sequenceNumber,
      dedupId: message.dedupId ?? (message.sequenceNumber === null ? null : message.messageId),
    }),
    deadLettered: (target) => sequence(target),
    redriven: (_message, target) => ({
      messageId: id(),
      sequenceNumber: sequence(target),
      sentAt: now(),
    }),
    taskStarted: () => `task-${next()}`,
  };
}
