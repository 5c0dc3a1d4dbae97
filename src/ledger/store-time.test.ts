import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { CLOCK_WAIT_MS } from "../core/store-clock.ts";
import { days, durationMs, epochMs, minutes } from "../core/units.ts";
import { StoreTime, type TimeMark } from "./store-time.ts";

const BEFORE = epochMs(1_000_000_000_000);

test.each([1, 2, 3])("%i processes that share a store confirm a leap after a day (T4)", (count) => {
  let mark: TimeMark = { at: BEFORE, waitedMs: durationMs(0) };
  const processes = Array.from({ length: count }, () => {
    const clock = new ManualClock(epochMs(BEFORE + days(7)));
    const time = new StoreTime(clock);
    time.continueFrom(mark);
    return { clock, time };
  });
  const leaps = () => processes.map(({ time }) => time.leap() !== null);
  expect(leaps()).toEqual(processes.map(() => true));
  for (let minute = 0; minute <= CLOCK_WAIT_MS / minutes(1) + 30; minute += 1) {
    for (const [at, { clock, time }] of processes.entries()) {
      clock.advance(minutes(1));
      time.read();
      // Each process writes every ten minutes, some minutes after the one before.
      if (minute % 10 === at * 3 && time.isMarkDue()) mark = time.exchange(mark);
    }
  }
  expect(leaps()).toEqual(processes.map(() => false));
});
