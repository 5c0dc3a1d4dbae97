import { expect, test } from "vitest";
import { addMs, days, type EpochMs, epochMs, minutes, subtractMs } from "../../src/core/units.ts";
import {
  IDLE_MS,
  laneOf,
  observe,
  polled,
  startWatermark,
  type WatermarkState,
} from "../../src/ingest/policy/watermark.ts";

const NOON = epochMs(Date.UTC(2026, 0, 1, 12));
const LATENESS = minutes(10);

interface Step {
  readonly partition?: string;
  /** Minutes from noon, of the event and of the consumer's clock. */
  readonly time: number;
  readonly now?: number;
}

const at = (fromNoon: number): EpochMs => addMs(NOON, minutes(fromNoon));

/** Feeds a stream to the watermark; each record is judged before it counts. */
function run(steps: readonly Step[], start = startWatermark(LATENESS)) {
  let state: WatermarkState = start;
  const lanes = steps.map(({ partition = "a", time, now = Math.max(0, time) }) => {
    const lane = laneOf(state.watermark, at(time));
    state = observe(state, { partition, eventTime: at(time), now: at(now) });
    return lane;
  });
  return { state, lanes };
}

test("T20: the newest record is never late, and one older than the lateness is", () => {
  const { lanes } = run([{ time: 0 }, { time: 1 }, { time: 30 }, { time: 21 }, { time: 19 }]);
  expect(lanes).toEqual(["live", "live", "live", "live", "late"]);
});

test("T20: a source that is behind is not late because another is ahead", () => {
  const { lanes, state } = run([
    { partition: "slow", time: -180, now: 0 },
    { partition: "fast", time: 0, now: 0 },
    { partition: "slow", time: -179, now: 1 },
    { partition: "fast", time: 2, now: 2 },
    { partition: "slow", time: -178, now: 3 },
  ]);
  expect(new Set(lanes)).toEqual(new Set(["live"]));
  expect(state.watermark).toBe(at(-188));
});

test("T20: an idle source does not hold the watermark back forever", () => {
  const silence = IDLE_MS / minutes(1);
  const steps = [
    { partition: "gone", time: -60, now: 0 },
    { partition: "here", time: silence, now: silence },
  ];
  const drained = polled(startWatermark(LATENESS), { now: at(0), drained: true });
  expect(run(steps, drained).state.watermark).toBe(at(silence - 10));
});

test("T20: a source whose messages may still wait in the queue is not idle", () => {
  const silence = (2 * IDLE_MS) / minutes(1);
  const { state } = run([
    { partition: "waiting", time: -60, now: 0 },
    { partition: "here", time: silence, now: silence },
  ]);
  expect(state.watermark).toBe(at(-70));
});

test("T20: one clock that is a year ahead makes no record late", () => {
  const year = days(365) / minutes(1);
  const { lanes } = run([{ time: 0 }, { time: year, now: 1 }, { time: 1 }, { time: -8, now: 2 }]);
  expect(lanes).toEqual(["live", "live", "live", "live"]);
});

test("T20: a window closes once, when the watermark reaches its end, and stays closed", () => {
  const last = epochMs(at(0) - 1);
  const lanes = [0, 9, 10, 11, -50].map((_, index, times) =>
    laneOf(run(times.slice(0, index + 1).map((time) => ({ time }))).state.watermark, last),
  );
  expect(lanes).toEqual(["live", "live", "late", "late", "late"]);
});

test("T20: a restart keeps the watermark", () => {
  const { state } = run([{ time: 30 }]);
  const restarted = startWatermark(LATENESS, state.watermark);
  expect(run([{ time: 19, now: 31 }], restarted).lanes).toEqual(["late"]);
  expect(restarted.watermark).toBe(subtractMs(at(30), LATENESS));
});
