// In parallel: the requests of one batch, a bounded number at a time.

import { present } from "../../core/assert.ts";

/** Requests in flight per batch. */
export const PARALLEL_MAX = 32;

/** Does the work of every item; after a failure, what is under way is awaited all the same. */
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
  // All are awaited, so that nothing is still being written when the call has failed.
  const settled = await Promise.allSettled(workers);
  for (const outcome of settled) if (outcome.status === "rejected") throw outcome.reason;
}
