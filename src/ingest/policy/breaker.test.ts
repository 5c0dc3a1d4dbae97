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
  if (state.kind !== "open") throw new Error(`it is ${state.kind}`);
  return state;
}

test("it opens at the fifth failure in a row of sink or ledger, and says until when", () => {
  expect(mayReceive(after(failures(4)), NOW)).toBe(true);
  const state = after([...failures(3, "ledger"), ...failures(2, "sink")]);
  expect(state.kind).toBe("open");
  expect(mayReceive(state, NOW)).toBe(false);
  const until = nextChangeAt(state);
  expect(until).toBe(addMs(NOW, PAUSE_MS_MIN));
  expect(mayReceive(state, epochMs((until ?? 0) - 1))).toBe(false);
  expect(mayReceive(state, until ?? NOW)).toBe(true);
});

test("a success in between begins the count anew", () => {
  expect(after([...failures(4), SUCCEEDED, ...failures(4)])).toEqual({
    kind: "closed",
    failures: 4,
  });
});

test("bad records never open it, and do not hide that the sink is down (K1)", () => {
  for (const blames of ["record", "queue", "objects"] as const) {
    expect(after(failures(100, blames))).toEqual(CLOSED);
    expect(after([...failures(4), failed(blames), failed()]).kind).toBe("open");
  }
});

test("when the pause is over one batch is let through, and no second (K2)", () => {
  const { until } = opened();
  const probing = stepBreaker(opened(), RECEIVED, until);
  expect(probing.kind).toBe("half-open");
  expect(mayReceive(probing, addMs(until, minutes(60)))).toBe(false);
  expect(nextChangeAt(probing)).toBeNull();
});

test("a batch that was empty or told nothing lets the next one through (K2)", () => {
  const { until } = opened();
  const probing = after([RECEIVED, failed("record"), ENDED], opened(), until);
  expect(probing.kind).toBe("half-open");
  expect(mayReceive(probing, until)).toBe(true);
  expect(mayReceive(after([RECEIVED], probing, until), until)).toBe(false);
});

test("a success of that batch closes it, a failure opens it for longer", () => {
  const { until } = opened();
  expect(after([RECEIVED, SUCCEEDED], opened(), until)).toEqual(CLOSED);
  const again = after([RECEIVED, failed()], opened(), until);
  expect(nextChangeAt(again)).toBe(addMs(until, durationMs(2 * PAUSE_MS_MIN)));
});

test("stragglers of before neither lengthen nor end a pause", () => {
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

test("it is never stuck: time and the end of a batch always let another through", () => {
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
