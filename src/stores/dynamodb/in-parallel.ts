// In parallel: runs the requests of one batch, a bounded number at a time.

import { present } from "../../core/assert.ts";

/** Requests in flight per batch. */
export const PARALLEL_MAX = 32;

/** Runs `work` for every item. After a failure it still waits for the requests in flight. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = present(items[next], "an item of the batch");
      next += 1;
      await work(item);
    }
  };
  const workers = Array.from({ length: Math.min(PARALLEL_MAX, items.length) }, worker);
  // Wait for all, so that no write is in progress when the call fails.
  const settled = await Promise.allSettled(workers);
  for (const outcome of settled) if (outcome.status === "rejected") throw outcome.reason;
}
