import { expect, test } from "vitest";
import { durationMs, epochMs } from "../core/units.ts";
import { createVirtualClock } from "./virtual-clock.ts";

const START = epochMs(1_000_000);

function createTracedClock() {
  const log: string[] = [];
  const idle = async () => {
    for (let turn = 0; turn < 5; turn += 1) await null;
  };
  const clock = createVirtualClock({ startAt: START, idle });
  const nap = (name: string, ms: number, signal?: AbortSignal) =>
    clock.sleep(durationMs(ms), signal).then(() => log.push(`${name}@${clock.now() - START}`));
  return { clock, log, nap };
}

test("time only moves when it is advanced, by exactly the given span", async () => {
  const { clock, log, nap } = createTracedClock();
  void nap("late", 101);
  await clock.advance(100);
  expect([clock.now() - START, clock.monotonic(), log]).toEqual([100, 100, []]);
  await clock.advance(1);
  expect(log).toEqual(["late@101"]);
});

test("sleepers wake in order, each at its due time, first come first served (C1)", async () => {
  const { clock, log, nap } = createTracedClock();
  void nap("c", 30);
  void nap("a", 10);
  void nap("b", 10);
  await clock.advance(1_000);
  expect(log).toEqual(["a@10", "b@10", "c@30"]);
});

test("a sleeper added during a move wakes in the same move, at its due time (C2)", async () => {
  const { clock, log, nap } = createTracedClock();
  void nap("first", 10)
    .then(() => nap("second", 10))
    .then(() => nap("third", 10));
  await clock.advance(25);
  expect(log).toEqual(["first@10", "second@20"]);
  expect(clock.now() - START).toBe(25);
});

test("an aborted sleep rejects with the reason and never wakes", async () => {
  const { clock, log, nap } = createTracedClock();
  const abort = new AbortController();
  const sleeping = nap("gone", 10, abort.signal);
  abort.abort(new Error("enough"));
  await expect(sleeping).rejects.toThrow("enough");
  await expect(nap("never", 1, abort.signal)).rejects.toThrow("enough");
  await clock.advance(20);
  expect(log).toEqual([]);
});

test("concurrent moves run one after another (C3)", async () => {
  const { clock, log, nap } = createTracedClock();
  void nap("a", 5);
  void nap("b", 15);
  await Promise.all([clock.advance(10), clock.advance(10)]);
  expect([log, clock.now() - START]).toEqual([["a@5", "b@15"], 20]);
});

test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])(
  "time cannot be advanced by %d",
  async (ms) => {
    const { clock } = createTracedClock();
    await expect(clock.advance(ms)).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
    expect(clock.now()).toBe(START);
  },
);

test("time can be advanced up to the end of the year 9999 (C4)", async () => {
  const { clock } = createTracedClock();
  const span = Date.parse("9999-12-31T23:59:59.999Z") - clock.now();
  const moves = [clock.advance(span - 1), clock.advance(2), clock.advance(1)];
  const came = (await Promise.allSettled(moves)).map(({ status }) => status);
  expect(came).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(clock.now() - START).toBe(span);
});

test("time stands still while work that advance waits for runs, also if it fails (C5)", async () => {
  const { clock, log, nap } = createTracedClock();
  const work = Promise.withResolvers<void>();
  void nap("sleeper", 10);
  clock.waitFor(work.promise);
  const moved = clock.advance(100);
  for (let turn = 0; turn < 100; turn += 1) await null;
  expect([clock.now() - START, log]).toEqual([0, []]);
  work.reject(new Error("failed"));
  await moved;
  expect([clock.now() - START, log]).toEqual([100, ["sleeper@10"]]);
});
