// Dead-letter scan: reads a dead-letter queue by receiving, because SQS has no other way.
//   S1. A scan deletes nothing. A received message is hidden for SCAN_VISIBILITY_MS and becomes
//       visible again by itself, or immediately when the scan ends. A crash loses nothing.
//   S2. A scan ends when the queue returns nothing, when it has returned as many repeated messages
//       as the scan has received and none of them is new, or after `max` messages.
//   S3. A FIFO queue returns at most ten messages of a group until they are deleted. A scan that
//       leaves them in the queue cannot see the messages behind them.

import { SQS_BATCH_ENTRIES_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";

/** How long a scan hides a message from other readers. */
export const SCAN_VISIBILITY_MS: DurationMs = minutes(2);
/** Any wait makes SQS query all servers of a queue, not only a sample. */
const SCAN_WAIT_MS: DurationMs = seconds(1);
export const SCAN_MESSAGES_MAX = 100_000;

export interface DeadLetterScan {
  /** The next new messages; empty when the scan has ended (S2). */
  next(): Promise<readonly Delivery[]>;
  /** Marks a message as deleted, so that `close` does not return it. */
  markDeleted(delivery: Delivery): void;
  /** Returns all other messages to the queue (S1). */
  close(): Promise<void>;
  /** False while the queue may have messages that the scan has not received. */
  readonly complete: boolean;
}

/** Scans a queue. A scan of null is complete and empty. */
export function startScan(
  queue: QueueReceiver | null,
  options: { readonly max?: number; readonly signal?: AbortSignal } = {},
): DeadLetterScan {
  const { max = SCAN_MESSAGES_MAX, signal = new AbortController().signal } = options;
  const receivedIds = new Set<string>();
  const receiptsById = new Map<string, string>();
  let complete = queue === null;

  async function next(): Promise<readonly Delivery[]> {
    const request = { waitMs: SCAN_WAIT_MS, visibilityMs: SCAN_VISIBILITY_MS };
    let repeats = 0;
    while (queue !== null && !complete && receivedIds.size < max && !signal.aborted) {
      const batchMax = Math.min(SQS_BATCH_ENTRIES_MAX, max - receivedIds.size);
      const deliveries = await queue.receive({ ...request, max: batchMax }, signal);
      const fresh = deliveries.filter(({ messageId }) => !receivedIds.has(messageId));
      for (const { messageId, receipt } of deliveries) {
        receiptsById.set(messageId, receipt);
        receivedIds.add(messageId);
      }
      if (fresh.length > 0) return fresh;
      repeats += deliveries.length;
      complete = !signal.aborted && (deliveries.length === 0 || repeats >= receivedIds.size); // S2
    }
    return [];
  }

  return {
    next,
    markDeleted: ({ messageId }) => void receiptsById.delete(messageId),
    async close() {
      const receipts = [...receiptsById.values()];
      receiptsById.clear();
      for (let at = 0; at < receipts.length; at += SQS_BATCH_ENTRIES_MAX) {
        const batch = receipts.slice(at, at + SQS_BATCH_ENTRIES_MAX);
        const changes = batch.map((receipt) => ({ receipt, visibilityMs: durationMs(0) }));
        // A failure is harmless: the messages become visible again by themselves (S1).
        await queue?.changeVisibility(changes).catch(() => undefined);
      }
    },
    get complete() {
      return complete;
    },
  };
}
