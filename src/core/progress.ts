// Progress: a long action, as its steps and its result.
//   P1. The action starts with the first step that is asked for, and runs once: the next loop, or
//       the result, continues where the last one stopped.
//   P2. Leaving the loop early ends the action after the current step. The result then says how
//       far it came; an action without a part of a result throws instead. The result of an action
//       that failed throws its error, also after the loop has thrown it.
//   P3. An action that reports its steps waits at each until the next one is asked for, if it
//       awaits the report. So steps do not pile up.

/** A long action: iterate over its steps, or await its result. */
export interface Progress<Step, Result> extends AsyncIterable<Step> {
  /** Runs what is left of the action, and returns what came of it. */
  result(): Promise<Result>;
}

/** Hands a step to the caller; resolves when the next one is asked for. */
export type Report<Step> = (step: Step) => Promise<void>;

/** The steps of a generator; `result` is read once they have ended. */
export function progressOf<Step, Result>(
  steps: AsyncGenerator<Step, void, undefined>,
  result: () => Result,
): Progress<Step, Result> {
  let failure: { readonly error: unknown } | null = null;
  async function* watched() {
    try {
      yield* steps;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  const run = watched();
  return {
    [Symbol.asyncIterator]: () => run, // P1
    async result() {
      for await (const _ of run);
      if (failure !== null) throw failure.error; // P2
      return result();
    },
  };
}

/** The steps that an action reports while it runs; its signal aborts when the loop is left. */
export function progressOfAction<Step, Result>(
  action: (report: Report<Step>, signal: AbortSignal) => Promise<Result>,
  stopping?: AbortSignal,
): Progress<Step, Result> {
  let ended: { readonly result: Result } | null = null;
  const leaving = new AbortController();
  const signal =
    stopping === undefined ? leaving.signal : AbortSignal.any([leaving.signal, stopping]);
  const run = async (report: Report<Step>) => {
    ended = { result: await action(report, signal) };
  };
  return progressOf(reported(run, leaving), () => {
    if (ended === null) throw leaving.signal.reason; // P2
    return ended.result;
  });
}

async function* reported<Step>(
  run: (report: Report<Step>) => Promise<void>,
  leaving: AbortController,
): AsyncGenerator<Step, void, undefined> {
  const waiting: { readonly step: Step; readonly taken: () => void }[] = [];
  let isOver = false;
  let isWhole = false;
  let wake = () => {};
  const running = run((step) => {
    if (leaving.signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ step, taken: resolve });
    wake();
    return promise;
  }).finally(() => {
    isOver = true;
    wake();
  });
  running.catch(() => {}); // Thrown below.
  try {
    for (;;) {
      const [next] = waiting;
      if (next !== undefined) {
        yield next.step;
        waiting.shift();
        next.taken(); // P3
      } else if (isOver) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    await running;
    isWhole = true;
  } finally {
    if (!isWhole) {
      leaving.abort(new Error("the action ended early, without a result")); // P2
      for (const step of waiting) step.taken();
      await running.catch(() => {});
    }
  }
}
