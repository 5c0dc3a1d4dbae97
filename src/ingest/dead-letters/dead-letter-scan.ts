// Dead-letter scan: looks through a dead-letter queue by receiving, as there is no other way.
//   S1. Nothing is deleted here. What is received is hidden for SCAN_VISIBILITY_MS and comes back
//       by itself, or at once when the scan ends; whoever dies in between loses nothing.
//   S2. A scan ends: when the queue has nothing more to show, when it has shown again as many as
//       were seen before and nothing new among them, or after `max` messages.
//   S3. Of one FIFO group a queue shows ten messages at most until they are dealt with, so a scan
//       that leaves some where they are cannot see behind them.

import { SQS_BATCH_ENTRIES_MAX } from "../../core/limits.ts";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import type { Delivery, QueueReceiver } from "../../ports/queue-receiver.ts";

/** How long others do not see what a scan looks at. */
export const SCAN_VISIBILITY_MS: DurationMs = minutes(2);
/** Long enough to ask all servers of a queue, not only some. */
const SCAN_WAIT_MS: DurationMs = seconds(1);
export const SCAN_MESSAGES_MAX = 100_000;

export interface DeadLetterScan {
  /** The next messages that were not seen before; none when the scan is over (S2). */
  next(): Promise<readonly Delivery[]>;
  /** It was dealt with, and is not to be put back. */
  settled(delivery: Delivery): void;
  /** Puts everything back that was not dealt with (S1). */
  close(): Promise<void>;
  /** False as long as there may be more than was seen. */
  readonly complete: boolean;
}

/** Scans a queue; without one, there is nothing to see. */
export function startScan(
  queue: QueueReceiver | null,
  options: { readonly max?: number; readonly signal?: AbortSignal } = {},
): DeadLetterScan {
  const { max = SCAN_MESSAGES_MAX, signal = new AbortController().signal } = options;
  const seen = new Set<string>();
  const held = new Map<string, string>();
  let complete = queue === null;

  async function next(): Promise<readonly Delivery[]> {
    const request = { waitMs: SCAN_WAIT_MS, visibilityMs: SCAN_VISIBILITY_MS };
    let repeats = 0;
    while (queue !== null && !complete && seen.size < max && !signal.aborted) {
      const room = Math.min(SQS_BATCH_ENTRIES_MAX, max - seen.size);
      const deliveries = await queue.receive({ ...request, max: room }, signal);
      const fresh = deliveries.filter(({ messageId }) => !seen.has(messageId));
      for (const { messageId, receipt } of deliveries) {
        held.set(messageId, receipt);
        seen.add(messageId);
      }
      if (fresh.length > 0) return fresh;
      repeats += deliveries.length;
      complete = !signal.aborted && (deliveries.length === 0 || repeats >= seen.size); // S2
    }
    return [];
  }

  return {
    next,
    settled: ({ messageId }) => void held.delete(messageId),
    async close() {
      const receipts = [...held.values()];
      held.clear();
      for (let at = 0; at < receipts.length; at += SQS_BATCH_ENTRIES_MAX) {
        const some = receipts.slice(at, at + SQS_BATCH_ENTRIES_MAX);
        const changes = some.map((receipt) => ({ receipt, visibilityMs: durationMs(0) }));
        // Not worth failing for: what cannot be put back now comes back by itself (S1).
        await queue?.changeVisibility(changes).catch(() => undefined);
      }
    },
    get complete() {
      return complete;
    },
  };
}
