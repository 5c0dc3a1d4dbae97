// Turn batcher: combines the requests of one event-loop turn into one call.
//   B1. Each caller gets the result of its own item. A call has at most `max` items.
//   B2. The failure of one item must not fail the others: if `splits` returns true for the error,
//       the items of the failed call are retried one by one.

import type { Turn } from "../../ports/turn.ts";

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (answer: O) => void;
  readonly reject: (error: unknown) => void;
}

export interface TurnBatcherOptions<I, O> {
  readonly max: number;
  readonly run: (items: readonly I[]) => Promise<readonly O[]>;
  readonly splits?: (error: unknown) => boolean;
}

/** Returns a function that requests one item as part of a batch. */
export function createTurnBatcher<I, O>(
  turn: Turn,
  options: TurnBatcherOptions<I, O>,
): (item: I) => Promise<O> {
  const { max, run, splits = () => false } = options;
  let waiting: Waiting<I, O>[] = [];

  async function runBatch(batch: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const answers = await run(batch.map(({ item }) => item));
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at] as O);
    } catch (error) {
      if (batch.length === 1 || !splits(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      for (const one of batch) await runBatch([one]); // B2
    }
  }

  function flush(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += max) void runBatch(all.slice(from, from + max));
  }

  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (waiting.length === 1) turn.afterTurn(flush);
    });
}
