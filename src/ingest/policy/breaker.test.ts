import fc from "fast-check";
import { expect, test } from "vitest";
import { addMs, durationMs, epochMs, minutes } from "../../core/units.ts";
import {
  type BreakerEvent,
  type BreakerState,
  CLOSED,
  FAILURES_TO_OPEN,
  mayReceive,
  nextChangeAt,
  PAUSE_MS_MAX,
  PAUSE_MS_MIN,
  pauseMs,
  stepBreaker,
} from "./breaker.ts";
import type { Blame } from "./error-table.ts";

const NOW = epochMs(1_000_000);
const failed = (blames: Blame = "sink", fraction = 0): BreakerEvent => ({
  kind: "failed",
  blames,
  fraction,
});
const SUCCEEDED: BreakerEvent = { kind: "succeeded" };
const RECEIVED: BreakerEvent = { kind: "received" };
const ENDED: BreakerEvent = { kind: "ended" };

function after(events: readonly BreakerEvent[], start: BreakerState = CLOSED, now = NOW) {
  return events.reduce((state, event) => stepBreaker(state, event, now), start);
}

const failures = (count: number, blames?: Blame) =>
  Array.from({ length: count }, () => failed(blames));

function opened(): Extract<BreakerState, { kind: "open" }> {
  const state = after(failures(FAILURES_TO_OPEN));
  if (state.kind !== "open") throw new Error(`the breaker is ${state.kind}`);
  return state;
}

test("five failures in a row of the sink or the ledger open the breaker for one pause", () => {
  expect(mayReceive(after(failures(4)), NOW)).toBe(true);
  const state = after([...failures(3, "ledger"), ...failures(2, "sink")]);
  expect(state.kind).toBe("open");
  expect(mayReceive(state, NOW)).toBe(false);
  const until = nextChangeAt(state);
  expect(until).toBe(addMs(NOW, PAUSE_MS_MIN));
  expect(mayReceive(state, epochMs((until ?? 0) - 1))).toBe(false);
  expect(mayReceive(state, until ?? NOW)).toBe(true);
});

test("a success resets the count of failures", () => {
  expect(after([...failures(4), SUCCEEDED, ...failures(4)])).toEqual({
    kind: "closed",
    failures: 4,
  });
});

test("bad records never open the breaker, and do not reset the count of failures (K1)", () => {
  for (const blames of ["record", "queue", "objects"] as const) {
    expect(after(failures(100, blames))).toEqual(CLOSED);
    expect(after([...failures(4), failed(blames), failed()]).kind).toBe("open");
  }
});

test("after the pause the breaker lets exactly one batch through (K2)", () => {
  const { until } = opened();
  const probing = stepBreaker(opened(), RECEIVED, until);
  expect(probing.kind).toBe("half-open");
  expect(mayReceive(probing, addMs(until, minutes(60)))).toBe(false);
  expect(nextChangeAt(probing)).toBeNull();
});

test("a probe that was empty or blamed only records lets the next batch through (K2)", () => {
  const { until } = opened();
  const probing = after([RECEIVED, failed("record"), ENDED], opened(), until);
  expect(probing.kind).toBe("half-open");
  expect(mayReceive(probing, until)).toBe(true);
  expect(mayReceive(after([RECEIVED], probing, until), until)).toBe(false);
});

test("a probe that succeeds closes the breaker; a probe that fails opens it for longer", () => {
  const { until } = opened();
  expect(after([RECEIVED, SUCCEEDED], opened(), until)).toEqual(CLOSED);
  const again = after([RECEIVED, failed()], opened(), until);
  expect(nextChangeAt(again)).toBe(addMs(until, durationMs(2 * PAUSE_MS_MIN)));
});

test("late results from before a pause neither lengthen nor end it", () => {
  const state = opened();
  expect(after([failed("sink", 0.9), SUCCEEDED, ENDED, RECEIVED], state)).toBe(state);
});

test("pauses grow from 1 s to 60 s, each at least half of its bound (K3)", () => {
  expect([1, 2, 3, 6, 7, 1_000].map((n) => pauseMs(n, 0))).toEqual([
    1_000, 2_000, 4_000, 30_000, 30_000, 30_000,
  ]);
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (n, f) => {
      expect(pauseMs(n, f)).toBeGreaterThanOrEqual(PAUSE_MS_MIN);
      expect(pauseMs(n, f)).toBeLessThanOrEqual(PAUSE_MS_MAX);
      expect(pauseMs(n + 1, f)).toBeGreaterThanOrEqual(pauseMs(n, f));
    }),
  );
});

test("the breaker never gets stuck: time or the end of a batch always lets another through", () => {
  const anyEvent = fc.oneof(
    fc.constantFrom(RECEIVED, SUCCEEDED, ENDED),
    fc.constantFrom<Blame>("record", "sink", "ledger", "queue", "objects").map((b) => failed(b)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(anyEvent, fc.nat(PAUSE_MS_MAX))), (steps) => {
      let [state, now] = [CLOSED, NOW];
      for (const [event, passed] of steps) {
        now = addMs(now, durationMs(passed));
        state = stepBreaker(state, event, now);
      }
      const due = nextChangeAt(state) ?? now;
      expect(due).toBeLessThanOrEqual(addMs(now, PAUSE_MS_MAX));
      expect(mayReceive(stepBreaker(state, ENDED, due), due)).toBe(true);
    }),
  );
});

test("a clock that is set back by a day does not lengthen a pause (K4)", () => {
  const DAY_MS = 86_400_000;
  const open = { ...opened(), until: epochMs(NOW + DAY_MS + PAUSE_MS_MIN) };
  expect(mayReceive(open, epochMs(NOW + DAY_MS))).toBe(false);
  expect(mayReceive(open, NOW)).toBe(true);
});
