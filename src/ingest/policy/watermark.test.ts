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
const seen = (partition: string, eventTime: number, now: number = NOW): EventTimeObservation => ({
  partition,
  eventTime: epochMs(eventTime),
  now: epochMs(now),
});

/** Observations around NOW, told in the order of our clock, which runs forwards. */
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
      return seen(partition, now + offset, now);
    });
  });
}

/** Every state that the observations lead through. */
function trace(start: WatermarkState, all: readonly EventTimeObservation[]): WatermarkState[] {
  const states = [start];
  for (const each of all) states.push(observe(states.at(-1) ?? start, each));
  return states;
}

test("the watermark is the latest time less the lateness, of the partition furthest behind", () => {
  const state = observeAll(startWatermark(LATENESS), [
    seen("a", before(seconds(1))),
    seen("b", before(minutes(30))),
    seen("a", before(minutes(90))),
  ]);
  expect(state.watermark).toBe(before(minutes(40)));
  expect(heldBy(state, NOW)).toBe("b");
});

test("it never goes back, whatever is seen (M1)", () => {
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

test("one by one or all at once, the watermark never runs ahead of any active partition", () => {
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

test("the newest record of its partition is never late by its own doing (M2)", () => {
  fc.assert(
    fc.property(anyObservations(), (all) => {
      let state = startWatermark(LATENESS);
      const newest = new Map<string, number>();
      for (const each of all) {
        // An older one may be: its partition's own past speaks again with it.
        const former = newest.get(each.partition) ?? Number.NEGATIVE_INFINITY;
        const isNewest = each.eventTime >= former;
        newest.set(each.partition, Math.max(former, each.eventTime));
        state = advance(state, each.now); // Others may have fallen silent, which is not its doing.
        const lane = laneOf(state.watermark, each.eventTime);
        state = observe(state, each);
        if (lane === "live" && isNewest)
          expect(laneOf(state.watermark, each.eventTime)).toBe("live");
      }
    }),
  );
});

test("late is what lies before the watermark, and nothing else is (M2)", () => {
  expect(laneOf(NOW, before(1))).toBe("late");
  expect(laneOf(NOW, NOW)).toBe("live");
  expect(laneOf(NOW, addMs(NOW, days(1)))).toBe("live");
  expect(laneOf(null, epochMs(0))).toBe("live");
});

test("a partition that fell silent holds nobody up, with or without new records (M3)", () => {
  const state = observeAll(startWatermark(LATENESS), [
    seen("quiet", before(minutes(50))),
    seen("busy", before(minutes(20)), addMs(NOW, minutes(1))),
  ]);
  expect(advance(state, addMs(NOW, durationMs(IDLE_MS - 1))).watermark).toBe(before(minutes(60)));
  expect(advance(state, addMs(NOW, IDLE_MS)).watermark).toBe(before(minutes(30)));
});

test("when all are silent the watermark stays (M3)", () => {
  const state = observe(startWatermark(LATENESS), seen("a", NOW));
  const later = addMs(NOW, days(2));
  expect(advance(state, later)).toBe(state);
  expect(heldBy(state, later)).toBeNull();
});

test("a partition that returns with old records neither moves it back nor lets it run on", () => {
  let state = observe(startWatermark(LATENESS), seen("a", NOW));
  const now = addMs(NOW, IDLE_MS);
  state = observe(state, seen("back", before(days(1)), now));
  state = observe(state, seen("a", now, now));
  expect(state.watermark).toBe(before(LATENESS));
  expect(heldBy(state, now)).toBe("back");
});

test("one clock that runs ahead makes nobody late (M4)", () => {
  const state = observe(startWatermark(LATENESS), seen("a", before(minutes(30))));
  const wrong = observe(state, seen("a", addMs(NOW, days(365))));
  expect(wrong.watermark).toBe(state.watermark);
  expect(observe(state, seen("b", addMs(NOW, days(365)))).partitions.has("b")).toBe(false);
  const right = observe(state, seen("a", addMs(NOW, FUTURE_MS_MAX)));
  expect(right.watermark).toBe(before(minutes(5)));
});

test("a clock that stays wrong falls silent and holds nobody up (M4)", () => {
  let state = observe(startWatermark(LATENESS), seen("wrong", before(minutes(60))));
  const now = addMs(NOW, IDLE_MS);
  state = observe(state, seen("wrong", addMs(now, days(1)), now));
  state = observe(state, seen("right", now, now));
  expect(state.watermark).toBe(subtractMs(now, LATENESS));
});

test("after a restart it goes on from what was kept (M1)", () => {
  const state = observe(startWatermark(LATENESS, NOW), seen("a", before(minutes(5))));
  expect(state.watermark).toBe(NOW);
  expect(laneOf(state.watermark, before(minutes(5)))).toBe("late");
});

test("whatever comes for a closed window is late", () => {
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

test("a recorded decision is taken again, whatever the watermark is now (M5)", () => {
  const recorded = { lane: "live", watermark: before(minutes(1)) } as const;
  expect(laneFor(recorded, addMs(NOW, days(9)), NOW)).toBe(recorded);
  expect(laneFor(null, addMs(NOW, days(9)), NOW)).toEqual({
    lane: "late",
    watermark: addMs(NOW, days(9)),
  });
});

test("partitions without number are not all remembered; the longest silent go first", () => {
  const many = Array.from({ length: PARTITIONS_MAX + 2 }, (_, at) => seen(`p${at}`, NOW));
  const state = observeAll(startWatermark(LATENESS), [...many, seen("p2", NOW)]);
  expect(state.partitions.size).toBe(PARTITIONS_MAX);
  expect(["p0", "p1", "p2"].map((name) => state.partitions.has(name))).toEqual([
    false,
    false,
    true,
  ]);
});
