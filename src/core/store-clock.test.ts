import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { CLOCK_LEAP_MS, CLOCK_WAIT_MS, StoreClock } from "./store-clock.ts";
import { days, epochMs, hours, minutes } from "./units.ts";

test("the time of a store is the system time while the clock is not set", () => {
  const clock = new ManualClock(1_000);
  const time = new StoreClock(clock);
  clock.advance(500);
  expect(time.read().now).toBe(1_500);
});

test("after the clock is set back, it continues at the pace of the monotonic clock (K1)", () => {
  const clock = new ManualClock(10_000_000);
  const time = new StoreClock(clock);
  time.read();
  clock.setWall(5_000_000);
  clock.advance(250);
  expect(time.read().now).toBe(10_000_250);
  clock.advance(250);
  expect(time.read().now).toBe(10_000_500);
});

test("after the clock is set forward, it follows (K2)", () => {
  const clock = new ManualClock(1_000);
  const time = new StoreClock(clock);
  clock.setWall(9_000_000);
  expect(time.read().now).toBe(9_000_000);
});

test("a pause between the readings of both clocks does not count twice (K8)", () => {
  const clock = new ManualClock(1_000);
  const heldUp = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: clock.sleep.bind(clock),
  };
  const time = new StoreClock(heldUp);
  for (const reading of ["now", "monotonic"] as const) {
    heldUp[reading] = () => {
      const read = clock[reading]();
      clock.advance(100); // The process was suspended.
      return read as never;
    };
    time.read().now;
    heldUp[reading] = () => clock[reading]() as never;
    expect(time.read().now).toBe(clock.now());
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
      const time = new StoreClock(clock);
      let last = time.read().now;
      for (const move of moves) {
        if ("wall" in move) clock.setWall(move.wall);
        else clock.advance(move.passMs);
        const now = time.read().now;
        expect(now).toBeGreaterThanOrEqual(last + ("passMs" in move ? move.passMs : 0));
        expect(Number.isInteger(now)).toBe(true);
        last = now;
      }
    }),
  );
});

const START = epochMs(1_700_000_000_000);

/** A clock of a store whose newest instant is START. */
function storeClock(leapMs: number, options: { acceptLeaps?: boolean; virtual?: boolean } = {}) {
  const manual = new ManualClock(START + leapMs);
  const clock = options.virtual ? { ...manual, virtual: true } : manual;
  const time = new StoreClock(clock, options);
  time.continueFrom(START);
  return { clock: manual, time };
}

test("a leap of more than a day moves the time, but expires nothing (K4)", () => {
  const { time } = storeClock(days(5));
  expect(time.read()).toEqual({ now: START + days(5), wall: START + days(5), expiry: START });
  expect(time.leap()).toEqual({ aheadMs: days(5), remainingMs: CLOCK_WAIT_MS });
});

test("a step of a day or less counts at once, whether the computer slept or was off (K4)", () => {
  const { clock, time } = storeClock(CLOCK_LEAP_MS);
  expect(time.read().expiry).toBe(START + CLOCK_LEAP_MS);
  clock.setWall(clock.now() + CLOCK_LEAP_MS);
  expect(time.read().expiry).toBe(START + 2 * CLOCK_LEAP_MS);
  expect(time.leap()).toBeNull();
});

test("a leap counts after its waiting time, and not before (K4)", () => {
  const { clock, time } = storeClock(days(5));
  time.read();
  clock.advance(CLOCK_WAIT_MS - 1);
  expect(time.read().expiry).toBe(START + CLOCK_WAIT_MS - 1);
  expect(time.leap()).toEqual({ aheadMs: days(5), remainingMs: 1 });
  clock.advance(1);
  expect(time.read().expiry).toBe(START + days(5) + CLOCK_WAIT_MS);
  expect(time.leap()).toBeNull();
});

test("the waiting time is counted across restarts, and starts over with another leap", () => {
  const { clock, time } = storeClock(days(5));
  time.read();
  clock.advance(hours(20));
  const { now } = time.read();
  const next = new StoreClock(clock);
  next.continueFrom(now, time.mark());
  next.read();
  expect(next.leap()?.remainingMs).toBe(CLOCK_WAIT_MS - hours(20));
  clock.setWall(clock.now() + days(2));
  next.read();
  expect(next.leap()).toEqual({ aheadMs: days(7), remainingMs: CLOCK_WAIT_MS });
});

test("an accepted clock and a virtual one are believed at once (K9)", () => {
  for (const options of [{ acceptLeaps: true }, { virtual: true }]) {
    const { time } = storeClock(days(5), options);
    expect(time.read().expiry).toBe(START + days(5));
    expect(time.leap()).toBeNull();
  }
});

test("a leap that is taken back never counts, even if time catches up with it (K5)", () => {
  const { clock, time } = storeClock(days(5));
  time.read();
  clock.setWall(START);
  clock.advance(minutes(1));
  expect(time.read()).toMatchObject({ wall: START + minutes(1), expiry: START + minutes(1) });
  expect(time.leap()).toBeNull();
  for (let day = 1; day <= 9; day += 1) {
    clock.advance(days(1));
    time.read();
  }
  expect(time.read().expiry).toBe(START + days(9) + minutes(1));
});

test("a clock that is far behind the store continues from the store (K3, K7)", () => {
  const { clock, time } = storeClock(-days(3));
  clock.advance(1_000);
  expect(time.read()).toEqual({ now: START + 1_000, wall: START + 1_000, expiry: START + 1_000 });
});

test("the mark of one process is what the next one continues with", () => {
  const { clock, time } = storeClock(days(5));
  time.read();
  clock.setWall(START);
  clock.advance(minutes(1));
  const before = time.read();
  const next = new StoreClock(clock);
  next.continueFrom(before.now, time.mark());
  expect(next.read()).toEqual(before);
  expect(next.leap()).toBeNull();
});

test("whatever the clock does, a reading expires no more than elapsed time and one day", () => {
  const anyMove = fc.oneof(
    fc.record({ passMs: fc.integer({ min: 0, max: 60_000 }) }),
    fc.record({ leapMs: fc.integer({ min: -days(30), max: days(30) }) }),
  );
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 20 }), (moves) => {
      const { clock, time } = storeClock(0);
      let last = time.read();
      let certain: number = last.now;
      for (const move of moves) {
        if ("leapMs" in move) clock.setWall(clock.now() + move.leapMs);
        else clock.advance(move.passMs);
        const passedMs = "passMs" in move ? move.passMs : 0;
        const next = time.read();
        const nextCertain = next.now - time.time.missingMs;
        expect(next.now).toBeGreaterThanOrEqual(last.now + passedMs);
        expect(nextCertain).toBeGreaterThanOrEqual(certain + passedMs);
        expect(nextCertain).toBeLessThanOrEqual(certain + passedMs + CLOCK_LEAP_MS);
        expect(next.expiry).toBeLessThanOrEqual(nextCertain);
        [last, certain] = [next, nextCertain];
      }
    }),
  );
});
