// Turn batcher: what is asked within one turn of the event loop becomes one call.
//   B1. Answers come to whoever asked, in any number of calls of at most `max` items.
//   B2. A failure that belongs to one item must not be everybody's: where `splits` says so, the
//       items of a failed call are asked again one by one.

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

/** A function that asks for one item, and is answered as part of a batch. */
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
