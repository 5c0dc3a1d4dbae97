import { expect, test } from "vitest";
import { type Progress, progressOf, progressOfAction } from "./progress.ts";

/** Reports 1, 2, 3, … and notes what it began. */
function counting(steps: number) {
  const begun: number[] = [];
  const progress = progressOfAction<number, string>(async (report, signal) => {
    for (let step = 1; step <= steps; step += 1) {
      signal.throwIfAborted();
      begun.push(step);
      await report(step);
    }
    return "counted";
  });
  return { begun, progress };
}

test("an action starts with the first step that is asked for, and waits at each (P1, P3)", async () => {
  const { begun, progress } = counting(3);
  const steps = progress[Symbol.asyncIterator]();
  expect(begun).toEqual([]);
  expect((await steps.next()).value).toBe(1);
  expect(begun).toEqual([1]);
  expect((await steps.next()).value).toBe(2);
  expect(begun).toEqual([1, 2]);
  expect(await progress.result()).toBe("counted");
  expect(begun).toEqual([1, 2, 3]);
});

test("leaving the loop ends the action after its step, without a result (P2)", async () => {
  const { begun, progress } = counting(3);
  for await (const step of progress) if (step === 2) break;
  expect(begun).toEqual([1, 2]);
  await expect(progress.result()).rejects.toThrow("ended early, without a result");
});

test("a loop that is left at the last step of an action has its result", async () => {
  const progress = progressOfAction<number, string>(async (report) => {
    void report(1);
    return "done";
  });
  for await (const _ of progress) break;
  expect(await progress.result()).toBe("done");
});

test("an action that fails throws after the steps that it reported, as the result does", async () => {
  const failing = () =>
    progressOfAction<number, void>(async (report) => {
      await report(1);
      throw new Error("broken");
    });
  const steps: number[] = [];
  const run = (async () => {
    for await (const step of failing()) steps.push(step);
  })();
  await expect(run).rejects.toThrow("broken");
  expect(steps).toEqual([1]);
  await expect(failing().result()).rejects.toThrow("broken");
});

test("the signal of the caller stops the action", async () => {
  const stopping = new AbortController();
  const progress = progressOfAction<number, void>(async (report, signal) => {
    await report(1);
    signal.throwIfAborted();
  }, stopping.signal);
  const run = (async () => {
    for await (const _ of progress) stopping.abort(new Error("stopped"));
  })();
  await expect(run).rejects.toThrow("stopped");
});

test.each<[string, () => Progress<number, unknown>]>([
  [
    "an action",
    () =>
      progressOfAction(async (report) => {
        await report(1);
        throw new Error("broken");
      }),
  ],
  [
    "a generator",
    () => {
      async function* steps() {
        yield 1;
        throw new Error("broken");
      }
      return progressOf(steps(), () => "a part");
    },
  ],
])(
  "after a loop that %s ended with an error, the result throws that error (P2)",
  async (_, start) => {
    const progress = start();
    const loop = (async () => {
      for await (const step of progress) expect(step).toBe(1);
    })();
    await expect(loop).rejects.toThrow("broken");
    await expect(progress.result()).rejects.toThrow("broken");
    await expect(progress.result()).rejects.toThrow("broken");
  },
);

test("leaving the loop over a generator ends it, and the result says how far it came (P2)", async () => {
  let count = 0;
  async function* steps() {
    for (;;) {
      count += 1;
      yield count;
    }
  }
  const progress = progressOf(steps(), () => count);
  for await (const step of progress) if (step === 2) break;
  expect(await progress.result()).toBe(2);
});
