import { expect, test } from "vitest";
import { engineTurns } from "../../../test/support/broker/engine-bench.ts";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { epochMs } from "../../core/units.ts";
import { Alarm } from "./alarm.ts";

function createAlarm() {
  const clock = new ManualClock(0);
  const rings: number[] = [];
  const alarm = new Alarm(clock, () => rings.push(clock.now()));
  const set = (at: number) => alarm.setFor(epochMs(at), clock.now());
  const pass = async (spanMs: number) => {
    clock.advance(spanMs);
    await engineTurns(1);
  };
  return { clock, rings, alarm, set, pass };
}

test("an alarm rings once, at the instant it was set for", async () => {
  const { rings, set, pass } = createAlarm();
  set(100);
  await pass(99);
  expect(rings).toEqual([]);
  await pass(1);
  await pass(1_000);
  expect(rings).toEqual([100]);
});

test("an earlier time replaces a later one; a later one leaves it alone", async () => {
  const { rings, set, pass, clock } = createAlarm();
  set(100);
  set(500);
  set(50);
  expect(clock.sleepers).toBe(1);
  await pass(50);
  await pass(1_000);
  expect(rings).toEqual([50]);
});

test("an instant in the past rings immediately; after a ring it can be set again", async () => {
  const { rings, set, pass } = createAlarm();
  await pass(100);
  set(20);
  await pass(0);
  expect(rings).toEqual([100]);
  set(150);
  await pass(50);
  expect(rings).toEqual([100, 150]);
});

test("a cleared alarm does not ring and leaves no timer behind", async () => {
  const { rings, set, pass, alarm, clock } = createAlarm();
  set(100);
  alarm.clear();
  await pass(0);
  expect(clock.sleepers).toBe(0);
  await pass(1_000);
  expect(rings).toEqual([]);
});

test("an alarm cleared in the instant it wakes up does not ring, and can be set again", async () => {
  const { rings, set, alarm, clock, pass } = createAlarm();
  set(100);
  clock.advance(100); // It has woken up, but its callback has not run yet.
  alarm.clear();
  set(300);
  await engineTurns(1);
  expect(rings).toEqual([]);
  alarm.clear();
  expect(clock.sleepers).toBe(0);
  await pass(1_000);
  expect(rings).toEqual([]);
});
