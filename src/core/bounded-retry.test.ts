import { expect, test } from "vitest";
import { linearBackoff, retryBounded, retryErrors } from "./bounded-retry.ts";
import { type DurationMs, durationMs } from "./units.ts";

function recordedPause() {
  const pauses: number[] = [];
  const sleep = async (span: DurationMs) => void pauses.push(span);
  return { pauses, pause: { delayMs: linearBackoff(durationMs(100)), sleep } };
}

test("a first try that succeeds is the only one and waits for nothing (R1)", async () => {
  const { pauses, pause } = recordedPause();
  const tries: number[] = [];
  const tried = await retryBounded({ triesMax: 4, pause }, async (nth) => {
    tries.push(nth);
    return { kind: "done", value: "ok" };
  });
  expect(tried).toEqual({ kind: "done", value: "ok" });
  expect(tries).toEqual([1]);
  expect(pauses).toEqual([]);
});

test("the last retry's reason is returned, after triesMax tries and one pause fewer (R1, R2)", async () => {
  const { pauses, pause } = recordedPause();
  const tried = await retryBounded({ triesMax: 4, pause }, async (nth) => ({
    kind: "retry",
    reason: `failure ${nth}`,
  }));
  expect(tried).toEqual({ kind: "retry", reason: "failure 4" });
  expect(pauses).toEqual([100, 200, 300]);
});

test("the retries end with the first success", async () => {
  const tried = await retryBounded<number, null>({ triesMax: 9 }, async (nth) =>
    nth < 3 ? { kind: "retry", reason: null } : { kind: "done", value: nth },
  );
  expect(tried).toEqual({ kind: "done", value: 3 });
});

test("an error that the attempt throws is not retried (R3)", async () => {
  let tries = 0;
  const failing = async (): Promise<never> => {
    tries += 1;
    throw new Error("broken");
  };
  await expect(retryBounded({ triesMax: 3 }, failing)).rejects.toThrow("broken");
  expect(tries).toBe(1);
});

test("retryErrors retries transient errors only and throws the last one", async () => {
  let tries = 0;
  const work = async () => {
    tries += 1;
    throw new Error(tries < 3 ? `transient ${tries}` : `final ${tries}`);
  };
  const isTransient = (error: unknown) => String(error).includes("transient");
  await expect(retryErrors({ triesMax: 9 }, isTransient, work)).rejects.toThrow("final 3");
  tries = 0;
  await expect(retryErrors({ triesMax: 2 }, isTransient, work)).rejects.toThrow("transient 2");
  tries = 0;
  const value = await retryErrors({ triesMax: 3 }, isTransient, async () => {
    tries += 1;
    if (tries < 3) throw new Error("transient");
    return tries;
  });
  expect(value).toBe(3);
});

test("a retry without a single try is a mistake in the program (R1)", async () => {
  await expect(
    retryBounded({ triesMax: 0 }, async () => ({ kind: "done", value: 1 })),
  ).rejects.toThrow("at least one try");
});
