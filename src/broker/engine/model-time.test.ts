import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { ModelTime } from "./model-time.ts";

test("model time is the system time while the clock is not set", () => {
  const clock = new ManualClock(1_000);
  const time = new ModelTime(clock);
  clock.advance(500);
  expect(time.now()).toBe(1_500);
});

test("after the clock is set back, it continues at the pace of the monotonic clock (T1)", () => {
  const clock = new ManualClock(10_000_000);
  const time = new ModelTime(clock);
  clock.setWall(5_000_000);
  clock.advance(250);
  expect(time.now()).toBe(10_000_250);
  clock.advance(250);
  expect(time.now()).toBe(10_000_500);
});

test("after the clock is set forward, it follows (T2)", () => {
  const clock = new ManualClock(1_000);
  const time = new ModelTime(clock);
  clock.setWall(9_000_000);
  expect(time.now()).toBe(9_000_000);
});

test("a pause between the readings of both clocks does not count twice (T4)", () => {
  const clock = new ManualClock(1_000);
  const heldUp = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: clock.sleep.bind(clock),
  };
  const time = new ModelTime(heldUp);
  for (const reading of ["now", "monotonic"] as const) {
    heldUp[reading] = () => {
      const read = clock[reading]();
      clock.advance(100); // The process was suspended.
      return read as never;
    };
    time.now();
    heldUp[reading] = () => clock[reading]() as never;
    expect(time.now()).toBe(clock.now());
  }
});

test("however the clock is set, it never goes back and never stands still", () => {
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
