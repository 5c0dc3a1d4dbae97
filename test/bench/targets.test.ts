import { expect, test } from "vitest";
import { percentile } from "../../bench/broker/statistics.ts";
import { judgeAll, type Results } from "../../bench/broker/targets.ts";

const rate = (perSecond: number) => ({ perSecond, generatorShare: 0.5, serverMicros: 1 });
const none = (): Results => ({ throughput: {}, million: {}, dedup: {}, startup: {} });

const verdictOf = (results: Results, target: string) =>
  judgeAll(results).find((verdict) => verdict.target.startsWith(target));

test("a target that was not measured is not met", () => {
  expect(new Set(judgeAll(none()).map(({ verdict }) => verdict))).toEqual(
    new Set(["not measured"]),
  );
});

test("a rate is judged by its ratio", () => {
  const throughput = { ours: { send: rate(59) }, floor: { send: rate(100) } };
  expect(verdictOf({ ...none(), throughput }, "send: at least 0.6")?.verdict).toBe("missed");
  throughput.ours.send = rate(60);
  expect(verdictOf({ ...none(), throughput }, "send: at least 0.6")?.verdict).toBe("met");
});

test("latency, memory and startup are judged by their bounds", () => {
  const at = (medianMs: number) => ({ medianMs, p99Ms: medianMs });
  const perMessage = { rssBytes: 201, heldBytes: 1 };
  const million = { ours: { small: at(1), big: at(1.5), perMessage } };
  const startup = { ours: { readyMs: 299, firstReplyMs: 400 } };
  const results = { ...none(), million, startup };
  expect(verdictOf(results, "receive:")?.verdict).toBe("met");
  expect(verdictOf(results, "memory per waiting")?.verdict).toBe("missed");
  expect(verdictOf(results, "ready on an empty")?.verdict).toBe("met");
});

test("a percentile is one of the samples", () => {
  expect(percentile([4, 1, 3, 2], 50)).toBe(2);
  expect(percentile([4, 1, 3, 2], 99)).toBe(4);
  expect(percentile([], 50)).toBeNaN();
});
