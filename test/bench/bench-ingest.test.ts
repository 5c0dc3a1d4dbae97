// Runs the ingest benchmark from end to end with small counts. It checks the counts, not the rates.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { writesOf } from "../../bench/ingest/dynamodb.ts";
import { growthOf } from "../../bench/ingest/memory.ts";
import { judgeIngest } from "../../bench/ingest/targets.ts";
import { needsFullSize } from "../support/full-size.ts";

const bench = join(import.meta.dirname, "..", "..", "bench", "ingest.ts");
const rate = { medianPerSecond: 100, bestPerSecond: 100, cpuMicros: 1, requestsPerMessage: 0.2 };

test("a quick run measures every part and handles each message once", async (context) => {
  needsFullSize(context);
  const flags = ["--quick", "--json", "--million"];
  const { stdout } = await promisify(execFile)(process.execPath, [bench, ...flags]);
  const { durability, results } = JSON.parse(stdout);
  expect(durability).toBe("synchronous=FULL");
  const contestants = ["ours", "ours-receipt", "ours-ten", "batch", "default"];
  expect(Object.keys(results.http)).toEqual(contestants);
  expect(results.http.default.requestsPerMessage).toBeGreaterThanOrEqual(2);
  expect(results.http.ours.requestsPerMessage).toBeLessThan(0.5);
  expect(Object.keys(results.inProcess)).toEqual(["claim", "receipt", "table", "objects"]);
  expect(results.memory.rssMib).toHaveLength(100);
  if ("missing" in results.dynamodb) return;
  expect(results.dynamodb.writesPerMessage).toBeGreaterThanOrEqual(1);
});

test("a target that was not measured is not met", () => {
  const verdicts = judgeIngest({ dynamodb: { missing: "no Java" } });
  expect(new Set(verdicts.map(({ verdict }) => verdict))).toEqual(new Set(["not measured"]));
});

test("a rate over HTTP is judged by its ratio to the peer in the same run", () => {
  const http = (medianPerSecond: number) => ({ ours: { ...rate, medianPerSecond }, batch: rate });
  expect(judgeIngest({ http: http(149) })[0]?.verdict).toBe("missed");
  expect(judgeIngest({ http: http(150) })[0]?.verdict).toBe("met");
});

test("a transaction counts twice for each of its items, and reads do not count", () => {
  expect(writesOf("UpdateItem", "{}")).toBe(1);
  expect(writesOf("GetItem", "{}")).toBe(0);
  expect(writesOf("TransactWriteItems", '{"TransactItems":[{},{}]}')).toBe(4);
  expect(writesOf("BatchWriteItem", '{"RequestItems":{"t":[{},{},{}]}}')).toBe(3);
});

test("memory growth ignores the first quarter", () => {
  expect(growthOf([1, 1, 10, 10, 10, 10, 11, 11])).toBe(1.1);
});
