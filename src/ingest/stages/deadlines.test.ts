import { expect, test } from "vitest";
import { createManualClock, FAR_AHEAD } from "../../../test/support/manual-clock.ts";
import { epochMs, seconds } from "../../core/units.ts";
import { createDeadlines } from "./deadlines.ts";

test("an entry that ended is removed, although an earlier one is still open (L2)", () => {
  const deadlines = createDeadlines(createManualClock(FAR_AHEAD), seconds(900));
  const endSlow = deadlines.begin(() => undefined);
  for (let at = 0; at < 1_000; at += 1) deadlines.begin(() => undefined)();
  expect(deadlines.open).toBe(1);
  endSlow();
  expect(deadlines.open).toBe(0);
  deadlines.close();
});

test.each([
  ["forward", 3_600_000],
  ["back", -3_600_000],
])("a wall clock that is set %s does not move a deadline (L1)", async (_, jumpMs) => {
  const steady = createManualClock(FAR_AHEAD);
  let jumped = 0;
  const sleeps: (() => void)[] = [];
  const clock = {
    now: () => epochMs(steady.now() + jumped),
    monotonic: steady.monotonic,
    sleep: () => new Promise<void>((resolve) => void sleeps.push(resolve)),
  };
  const passed: string[] = [];
  const deadlines = createDeadlines(clock, seconds(900));
  deadlines.begin(() => passed.push("first"));
  jumped = jumpMs;
  steady.advance(seconds(899));
  sleeps.shift()?.();
  await new Promise(setImmediate);
  expect(passed).toEqual([]);
  steady.advance(seconds(1));
  sleeps.shift()?.();
  await new Promise(setImmediate);
  expect(passed).toEqual(["first"]);
  deadlines.close();
});
