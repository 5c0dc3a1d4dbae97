import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import type { FlowFacts } from "../../operate/pages/flow-facts.ts";
import { problemsOf, stateOfNode } from "./flow-problems.ts";
import { ratesBetween } from "./flow-rates.ts";

const QUEUE = { name: "q", visible: 0, delayed: 0, inFlight: 0, oldestAgeMs: null };
const CONSUMER = {
  received: 10,
  committed: 10,
  duplicates: 0,
  retried: 0,
  deadLettered: 0,
  settled: 10,
  inFlight: 0,
  breaker: "closed",
} as const;
const FACTS: FlowFacts = {
  bucket: null,
  topic: null,
  queue: QUEUE,
  deadLetters: null,
  sink: "function",
  consumer: CONSUMER,
  parked: { count: 0, more: false },
  watermark: null,
  completeUpTo: null,
  heldBy: null,
  paused: null,
  outage: null,
  failures: [],
};
const CALM = { arrived: 1, received: 1, applied: 1, retries: 0, deadLetters: 0 };
const idsOf = (facts: Partial<FlowFacts>, rates: Partial<typeof CALM> = {}) =>
  problemsOf({ ...FACTS, ...facts }, { ...CALM, ...rates }).map(({ id, severity }) => {
    return `${severity} ${id}`;
  });

test("a pipeline that keeps up has no problems", () => {
  expect(idsOf({})).toEqual([]);
});

test("each problem is reported once, errors first", () => {
  expect(idsOf({ consumer: { ...CONSUMER, breaker: "open" } })).toEqual(["error breaker-open"]);
  expect(idsOf({}, { retries: 1 })).toEqual(["warning retries"]);
  expect(idsOf({ parked: { count: 3, more: false } })).toEqual(["warning dead-letters"]);
  expect(idsOf({}, { deadLetters: 0.1 })).toEqual(["error dead-letters"]);
  expect(idsOf({ queue: { ...QUEUE, oldestAgeMs: 150_000 } })).toEqual(["warning old-messages"]);
  const stuck = { ...QUEUE, visible: 5, oldestAgeMs: 300_000 };
  expect(idsOf({ queue: stuck }, { received: 0, retries: 1 })).toEqual([
    "error nothing-received",
    "error old-messages",
    "warning retries",
  ]);
  expect(idsOf({ failures: ["ledger: down"] })).toEqual(["error no-answer-0"]);
  const behind = {
    watermark: epochMs(7_200_000),
    completeUpTo: epochMs(0),
    heldBy: "dead-lettered: a",
  };
  expect(idsOf(behind)).toEqual(["warning incomplete"]);
});

test("a failing store comes first, with its reason", () => {
  const outage = { since: 0, reason: "disk I/O error" };
  const [problem] = problemsOf({ ...FACTS, outage, failures: ["queues: no answer"] }, CALM);
  expect(problem).toMatchObject({ id: "store-failing", severity: "error", node: "queue" });
  expect(problem?.detail).toBe("Since 1970-01-01T00:00:00.000Z: disk I/O error");
});

test("a node has the state of its worst problem", () => {
  const problems = problemsOf({ ...FACTS, parked: { count: 1, more: false } }, CALM);
  expect(stateOfNode("dead-letters", problems)).toBe("warning");
  expect(stateOfNode("sink", problems)).toBe("ok");
});

test("rates come from two readings, and a restarted counter has none", () => {
  const later = { ...CONSUMER, received: 30, committed: 20, settled: 20 };
  const before = { at: 0, facts: FACTS };
  const after = {
    at: 10_000,
    facts: { ...FACTS, consumer: later, queue: { ...QUEUE, visible: 10 } },
  };
  expect(ratesBetween(before, after)).toMatchObject({ received: 2, applied: 1, arrived: 2 });
  expect(ratesBetween(after, { ...before, at: 20_000 })).toMatchObject({ received: null });
  expect(ratesBetween(undefined, after).received).toBeNull();
});
