// Progress: a long action, as its steps and its result.
//   P1. The action starts with the first step that is asked for, and runs once: a second loop, or
//       `result`, continues where the last one stopped.
//   P2. Leaving the loop early ends the action after the current step. The result then says how
//       far it came.

/** A long action: iterate over its steps, or await its result. */
export interface Progress<Step, Result> extends AsyncIterable<Step> {
  /** Runs what is left of the action, and returns what came of it. */
  result(): Promise<Result>;
}

/** The steps of a generator; `result` is read once they have ended. */
export function progressOf<Step, Result>(
  steps: AsyncGenerator<Step, void, undefined>,
  result: () => Result,
): Progress<Step, Result> {
  return {
    [Symbol.asyncIterator]: () => steps, // P1
    async result() {
      for await (const _ of steps);
      return result();
    },
  };
}
