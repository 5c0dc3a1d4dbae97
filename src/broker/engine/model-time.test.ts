import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/bench-model/manual-clock.ts";
import { ModelTime } from "./model-time.ts";

test("it is the machine's time while nobody meddles with it", () => {
  const clock = new ManualClock(1_000);
  const time = new ModelTime(clock);
  clock.advance(500);
  expect(time.now()).toBe(1_500);
});

test("set back, it goes on at the pace of the monotonic clock (T1)", () => {
  const clock = new ManualClock(10_000_000);
  const time = new ModelTime(clock);
  clock.setWall(5_000_000);
  clock.advance(250);
  expect(time.now()).toBe(10_000_250);
  clock.advance(250);
  expect(time.now()).toBe(10_000_500);
});

test("set forward, it follows (T2)", () => {
  const clock = new ManualClock(1_000);
  const time = new ModelTime(clock);
  clock.setWall(9_000_000);
  expect(time.now()).toBe(9_000_000);
});

test("whatever is done to the clock, it never goes back and never stands still", () => {
  const anyMove = fc.oneof(
    fc.record({ passMs: fc.integer({ min: 0, max: 5_000 }) }),
    fc.record({ wall: fc.integer({ min: 0, max: 10_000_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(anyMove), (moves) => {
      const clock = new ManualClock(5_000_000);
      const time = new ModelTime(clock);
      let last = time.now();
      for (const move of moves) {
        if ("wall" in move) clock.setWall(move.wall);
        else clock.advance(move.passMs);
        const now = time.now();
        expect(now).toBeGreaterThanOrEqual(last + ("passMs" in move ? move.passMs : 0));
        expect(Number.isInteger(now)).toBe(true);
        last = now;
      }
    }),
  );
});
