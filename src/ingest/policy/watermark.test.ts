import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addMs,
  days,
  durationMs,
  epochMs,
  minutes,
  seconds,
  subtractMs,
} from "../../core/units.ts";
import {
  advance,
  type EventTimeObservation,
  FUTURE_MS_MAX,
  heldBy,
  IDLE_MS,
  laneFor,
  laneOf,
  observe,
  observeAll,
  PARTITIONS_MAX,
  startWatermark,
  type WatermarkState,
  windowClosed,
} from "./watermark.ts";

const LATENESS = minutes(10);
const NOW = epochMs(Date.UTC(2026, 0, 1, 12));
const before = (ms: number) => subtractMs(NOW, durationMs(ms));
const observation = (
  partition: string,
  eventTime: number,
  now: number = NOW,
): EventTimeObservation => ({
  partition,
  eventTime: epochMs(eventTime),
  now: epochMs(now),
});

/** Observations around NOW, in the order of a clock that only advances. */
function anyObservations(): fc.Arbitrary<EventTimeObservation[]> {
  const one = fc.record({
    partition: fc.constantFrom("a", "b", "c"),
    offset: fc.integer({ min: -minutes(60), max: minutes(20) }),
    passed: fc.integer({ min: 0, max: minutes(8) }),
  });
  return fc.array(one, { maxLength: 40 }).map((all) => {
    let now = NOW;
    return all.map(({ partition, offset, passed }) => {
      now = addMs(now, durationMs(passed));
      return observation(partition, now + offset, now);
    });
  });
}

/** Every state from the first to the last observation. */
function trace(start: WatermarkState, all: readonly EventTimeObservation[]): WatermarkState[] {
  const states = [start];
  for (const each of all) states.push(observe(states.at(-1) ?? start, each));
  return states;
}

test("the watermark is the latest event time of the slowest partition minus the lateness (M1)", () => {
  const state = observeAll(startWatermark(LATENESS), [
    observation("a", before(seconds(1))),
    observation("b", before(minutes(30))),
    observation("a", before(minutes(90))),
  ]);
  expect(state.watermark).toBe(before(minutes(40)));
  expect(heldBy(state, NOW)).toBe("b");
});

test("the watermark never goes back, whatever is observed (M1)", () => {
  fc.assert(
    fc.property(anyObservations(), fc.option(fc.nat(minutes(60))), (all, ago) => {
      const restored = ago === null ? null : before(ago);
      const marks = trace(startWatermark(LATENESS, restored), all)
        .map(({ watermark }) => watermark)
        .filter((watermark) => watermark !== null);
      expect(marks).toEqual(marks.toSorted((a, b) => a - b));
    }),
  );
});

test("observeAll keeps the partitions of single calls, and its watermark is never ahead of theirs", () => {
  fc.assert(
    fc.property(anyObservations(), (all) => {
      const start = startWatermark(LATENESS);
      const oneByOne = trace(start, all).at(-1) ?? start;
      const atOnce = observeAll(start, all);
      expect(atOnce.partitions).toEqual(oneByOne.partitions);
      expect(atOnce.watermark ?? 0).toBeLessThanOrEqual(oneByOne.watermark ?? 0);
    }),
  );
});

test("the newest record of a partition never makes itself late (M2)", () => {
  fc.assert(
    fc.property(anyObservations(), (all) => {
      let state = startWatermark(LATENESS);
      const newest = new Map<string, number>();
      for (const each of all) {
        // An older record may: it makes its partition active again, with its latest time.
        const previous = newest.get(each.partition) ?? Number.NEGATIVE_INFINITY;
        const isNewest = each.eventTime >= previous;
        newest.set(each.partition, Math.max(previous, each.eventTime));
        state = advance(state, each.now); // Other partitions may have become idle.
        const lane = laneOf(state.watermark, each.eventTime);
        state = observe(state, each);
        if (lane === "live" && isNewest)
          expect(laneOf(state.watermark, each.eventTime)).toBe("live");
      }
    }),
  );
});

test("a record is late if, and only if, it is before the watermark (M2)", () => {
  expect(laneOf(NOW, before(1))).toBe("late");
  expect(laneOf(NOW, NOW)).toBe("live");
  expect(laneOf(NOW, addMs(NOW, days(1)))).toBe("live");
  expect(laneOf(null, epochMs(0))).toBe("live");
});

test("an idle partition no longer holds the watermark back, even without new records (M3)", () => {
  const state = observeAll(startWatermark(LATENESS), [
    observation("quiet", before(minutes(50))),
    observation("busy", before(minutes(20)), addMs(NOW, minutes(1))),
  ]);
  expect(advance(state, addMs(NOW, durationMs(IDLE_MS - 1))).watermark).toBe(before(minutes(60)));
  expect(advance(state, addMs(NOW, IDLE_MS)).watermark).toBe(before(minutes(30)));
});

test("if all partitions are idle, the watermark stays (M3)", () => {
  const state = observe(startWatermark(LATENESS), observation("a", NOW));
  const later = addMs(NOW, days(2));
  expect(advance(state, later)).toBe(state);
  expect(heldBy(state, later)).toBeNull();
});

test("a partition that returns with old records holds the watermark, but does not move it back", () => {
  let state = observe(startWatermark(LATENESS), observation("a", NOW));
  const now = addMs(NOW, IDLE_MS);
  state = observe(state, observation("back", before(days(1)), now));
  state = observe(state, observation("a", now, now));
  expect(state.watermark).toBe(before(LATENESS));
  expect(heldBy(state, now)).toBe("back");
});

test("one clock that is ahead makes no other record late (M4)", () => {
  const state = observe(startWatermark(LATENESS), observation("a", before(minutes(30))));
  const wrong = observe(state, observation("a", addMs(NOW, days(365))));
  expect(wrong.watermark).toBe(state.watermark);
  expect(observe(state, observation("b", addMs(NOW, days(365)))).partitions.has("b")).toBe(false);
  const right = observe(state, observation("a", addMs(NOW, FUTURE_MS_MAX)));
  expect(right.watermark).toBe(before(minutes(5)));
});

test("a partition whose clock stays wrong no longer holds the watermark back (M4)", () => {
  let state = observe(startWatermark(LATENESS), observation("wrong", before(minutes(60))));
  const now = addMs(NOW, IDLE_MS);
  state = observe(state, observation("wrong", addMs(now, days(1)), now));
  state = observe(state, observation("right", now, now));
  expect(state.watermark).toBe(subtractMs(now, LATENESS));
});

test("after a restart the watermark continues from the stored one (M1)", () => {
  const state = observe(startWatermark(LATENESS, NOW), observation("a", before(minutes(5))));
  expect(state.watermark).toBe(NOW);
  expect(laneOf(state.watermark, before(minutes(5)))).toBe("late");
});

test("every record of a closed window is late", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.nat(), (watermark, end, width) => {
      const [mark, close] = [epochMs(watermark), epochMs(end)];
      const inside = subtractMs(close, durationMs(width + 1));
      if (windowClosed(mark, close)) expect(laneOf(mark, inside)).toBe("late");
      else expect(laneOf(mark, subtractMs(close, durationMs(1)))).toBe("live");
    }),
  );
  expect(windowClosed(NOW, NOW)).toBe(true);
  expect(windowClosed(null, epochMs(0))).toBe(false);
});

test("a recorded decision is reused, whatever the watermark is now (M5)", () => {
  const recorded = { lane: "live", watermark: before(minutes(1)) } as const;
  expect(laneFor(recorded, addMs(NOW, days(9)), NOW)).toBe(recorded);
  expect(laneFor(null, addMs(NOW, days(9)), NOW)).toEqual({
    lane: "late",
    watermark: addMs(NOW, days(9)),
  });
});

test("the number of partitions is bounded; those idle for longest are dropped first", () => {
  const many = Array.from({ length: PARTITIONS_MAX + 2 }, (_, at) => observation(`p${at}`, NOW));
  const state = observeAll(startWatermark(LATENESS), [...many, observation("p2", NOW)]);
  expect(state.partitions.size).toBe(PARTITIONS_MAX);
  expect(["p0", "p1", "p2"].map((name) => state.partitions.has(name))).toEqual([
    false,
    false,
    true,
  ]);
});
