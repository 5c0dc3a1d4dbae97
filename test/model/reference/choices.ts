// Choices: everything that AWS leaves open. The reference requests each choice where it arises, so
// that the same rules serve two purposes: a naive broker that chooses by itself, and a judge that
// follows the observed choices of another broker.

import type { RefMessage, RefQueue } from "./state.ts";

/** Thrown for a choice that the rules do not allow. */
export class Illegal extends Error {}

export interface Choices {
  /** The identity of a newly accepted message. */
  sent(queue: RefQueue, index: number): { messageId: string; sequenceNumber: string | null };
  /** The candidate that a receive takes next, or null when it ends. */
  pick(queue: RefQueue, candidates: readonly RefMessage[], takenCount: number): RefMessage | null;
  /** Parts of a delivery that no rule determines. `index` is its position in the response. */
  delivered(
    message: RefMessage,
    index: number,
  ): { receiptHandle: string; sequenceNumber: string | null; dedupId: string | null };
  /** The new sequence number of a dead letter on a FIFO queue; null until it is observed. */
  deadLettered(target: RefQueue): string | null;
  /** The new identity of a redriven message. */
  redriven(
    message: RefMessage,
    target: RefQueue,
  ): { messageId: string; sequenceNumber: string | null; sentAt: number };
  taskStarted(): string;
}

/** Chooses like a naive broker: oldest message first, ids that count up. */
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
