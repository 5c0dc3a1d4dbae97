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
  joinReports,
  keepActive,
  laneFor,
  laneOf,
  OTHER_PARTITIONS,
  observe,
  observeAll,
  PARTITIONS_MAX,
  POLL_FRESH_MS,
  polled,
  startWatermark,
  type WatermarkState,
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

/** A state whose queue has been drained since long before NOW. */
function drained(restored: ReturnType<typeof epochMs> | null = null): WatermarkState {
  return polled(startWatermark(LATENESS, restored), { now: before(days(1)), drained: true });
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
  const state = observeAll(drained(), [
    observation("quiet", before(minutes(50))),
    observation("busy", before(minutes(20)), addMs(NOW, minutes(1))),
  ]);
  expect(advance(state, addMs(NOW, durationMs(IDLE_MS - 1))).watermark).toBe(before(minutes(60)));
  expect(advance(state, addMs(NOW, IDLE_MS)).watermark).toBe(before(minutes(30)));
});

test("if all partitions are idle, the watermark stays (M3)", () => {
  const state = observe(drained(), observation("a", NOW));
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
  let state = observe(drained(), observation("wrong", before(minutes(60))));
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
      if (mark >= close) expect(laneOf(mark, inside)).toBe("late");
      else expect(laneOf(mark, subtractMs(close, durationMs(1)))).toBe("live");
    }),
  );
});

test("a recorded decision is reused, whatever the watermark is now (M5)", () => {
  const recorded = { lane: "live", watermark: before(minutes(1)) } as const;
  expect(laneFor(recorded, addMs(NOW, days(9)), NOW)).toBe(recorded);
  expect(laneFor(null, addMs(NOW, days(9)), NOW)).toEqual({
    lane: "late",
    watermark: addMs(NOW, days(9)),
  });
});

test("partitions beyond the limit share one, and idle ones make space (M7)", () => {
  const many = Array.from({ length: PARTITIONS_MAX }, (_, at) => observation(`p${at}`, NOW));
  const full = observeAll(drained(), many);
  const more = observeAll(full, [observation("x", before(5)), observation("y", before(9))]);
  expect(more.partitions.size).toBe(PARTITIONS_MAX + 1);
  expect(more.partitions.get(OTHER_PARTITIONS)?.latest).toBe(before(5));
  const later = addMs(NOW, IDLE_MS);
  const after = observe(more, observation("z", later, later));
  expect([...after.partitions.keys()]).toEqual(["z"]);
});

test("a million partitions keep the state at its limit (M7)", () => {
  let state = startWatermark(LATENESS);
  for (let at = 0; at < 1_000_000; at += 10_000) {
    const batch = Array.from({ length: 10_000 }, (_, on) => observation(`p${at + on}`, NOW));
    state = observeAll(state, batch);
  }
  expect(state.partitions.size).toBe(PARTITIONS_MAX + 1);
});

test("a partition is not idle while messages may wait in the queue (M3)", () => {
  const state = observe(startWatermark(LATENESS), observation("a", NOW));
  expect(heldBy(state, addMs(NOW, days(1)))).toBe("a");
  const full = polled(polled(state, { now: NOW, drained: true }), { now: NOW, drained: false });
  expect(heldBy(full, addMs(NOW, days(1)))).toBe("a");
  expect(heldBy(polled(state, { now: NOW, drained: true }), addMs(NOW, days(1)))).toBeNull();
});

test("a partition is not idle while a record of it is in flight or in retry (M3)", () => {
  const state = observe(drained(), observation("a", NOW));
  const until = addMs(NOW, days(2));
  const active = keepActive(state, new Map([["a", until]]));
  expect(heldBy(active, until)).toBe("a");
  expect(heldBy(active, addMs(until, IDLE_MS))).toBeNull();
});

test("a record is too late if it is older than the watermark by more than the allowance (M2)", () => {
  const allowed = minutes(5);
  expect(laneOf(NOW, before(allowed), allowed)).toBe("late");
  expect(laneOf(NOW, before(allowed + 1), allowed)).toBe("too-late");
  expect(laneOf(NOW, before(1), durationMs(0))).toBe("too-late");
  expect(laneOf(NOW, NOW, durationMs(0))).toBe("live");
});

test("an event time of 1970 neither moves the watermark nor holds it back (M4)", () => {
  const state = observe(startWatermark(LATENESS), observation("zero", 0));
  expect(state.partitions.size).toBe(0);
  expect(observe(state, observation("a", NOW)).watermark).toBe(before(LATENESS));
});

const report = (partitions: WatermarkState["partitions"], more: object = {}) => ({
  partitions,
  polledAt: NOW,
  drainedSince: before(days(1)),
  ...more,
});
const one = (name: string, latest: number) =>
  new Map([[name, { latest: epochMs(latest), activeUntil: NOW }]]);

test("several processes have one watermark: the least partition of all of them (M1)", () => {
  const state = startWatermark(LATENESS);
  const slow = report(one("slow", before(minutes(60))));
  const joined = joinReports(state, [report(one("fast", NOW)), slow], NOW);
  expect(advance(joined, NOW).watermark).toBe(before(minutes(70)));
  expect(heldBy(joined, NOW)).toBe("slow");
});

test("a process that saw less of a partition than another does not hold it back (M1)", () => {
  const [behind, ahead] = [report(one("p", before(minutes(60)))), report(one("p", NOW))];
  expect(advance(joinReports(startWatermark(LATENESS), [behind, ahead], NOW), NOW).watermark).toBe(
    before(LATENESS),
  );
});

test("the queue is drained only if every process that polls says so (M3)", () => {
  const since = (reports: readonly object[]) =>
    joinReports(startWatermark(LATENESS), reports as never, NOW).drainedSince;
  const empty = new Map();
  const drainedReport = report(empty, { drainedSince: before(5) });
  expect(since([drainedReport, report(empty)])).toBe(before(5));
  expect(since([drainedReport, report(empty, { drainedSince: null })])).toBeNull();
  const silent = report(empty, { polledAt: before(POLL_FRESH_MS), drainedSince: null });
  expect(since([drainedReport, silent])).toBe(before(5));
  expect(since([silent])).toBeNull();
});

test("joining reports in any order and any grouping gives the same partitions (M1)", () => {
  const anyReport = fc
    .array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(minutes(60))), { maxLength: 5 })
    .map((entries) =>
      report(new Map(entries.flatMap(([name, ago]) => [...one(name, before(ago))]))),
    );
  fc.assert(
    fc.property(fc.array(anyReport, { maxLength: 5 }), (reports) => {
      const state = startWatermark(LATENESS);
      const forward = joinReports(state, reports, NOW);
      const first = reports.slice(0, 2);
      const half = report(joinReports(state, first, NOW).partitions);
      const grouped = joinReports(state, [half, ...reports.slice(2)], NOW);
      const back = joinReports(state, reports.toReversed(), NOW);
      expect(new Map([...back.partitions].sort())).toEqual(new Map([...forward.partitions].sort()));
      expect(grouped.partitions).toEqual(forward.partitions);
    }),
  );
});
