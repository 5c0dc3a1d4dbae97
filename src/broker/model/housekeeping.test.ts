import { expect, test } from "vitest";
import { entry, inGroup, ModelBench } from "../../../test/support/broker/model-bench.ts";
import {
  hasHousekeeping,
  nextHousekeepingAt,
  runHousekeeping,
  sweepGarbage,
} from "./housekeeping.ts";

test("an idle broker has nothing to wait for (K2)", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.create("q.fifo");
  expect(nextHousekeepingAt(bench.state)).toBe(null);
});

test("the next housekeeping is due when the first thing expires", () => {
  const bench = new ModelBench();
  bench.create("q", { MessageRetentionPeriod: "1000" });
  bench.create("q.fifo");
  bench.send("q", entry("a"));
  expect(nextHousekeepingAt(bench.state)).toBe(bench.now + 1_000_000);
  bench.send("q.fifo", inGroup("g", "a"));
  expect(nextHousekeepingAt(bench.state)).toBe(bench.now + 300_000);
  bench.pass(1_000);
  bench.receive("q.fifo", { attemptId: "x" });
  expect(nextHousekeepingAt(bench.state)).toBe(bench.now + 299_000);
  bench.ok("deleteQueue", { queue: "q.fifo" });
  expect(nextHousekeepingAt(bench.state)).toBe(bench.now + 60_000);
});

test("everything that expires was announced when it began (K2)", () => {
  const bench = new ModelBench();
  bench.create("q", { MessageRetentionPeriod: "60" });
  const steps: [work: boolean, () => void][] = [
    [false, () => bench.create("q.fifo")],
    [false, () => bench.set("q", { DelaySeconds: "1" })],
    [true, () => bench.send("q", entry("a"))],
    [true, () => bench.send("q.fifo", inGroup("g", "a"))],
    [true, () => bench.receive("q.fifo", { attemptId: "x" })],
    [true, () => bench.ok("deleteQueue", { queue: "q" })],
  ];
  for (const [work, run] of steps) {
    const [before, changes] = [nextHousekeepingAt(bench.state), bench.changes.length];
    run();
    expect(bench.changes.slice(changes).some(hasHousekeeping)).toBe(work);
    if (!work) expect(nextHousekeepingAt(bench.state)).toBe(before);
  }
});

test("housekeeping deletes expired ids from disk, and only those", () => {
  const bench = new ModelBench();
  const queue = bench.create("q.fifo");
  bench.send("q.fifo", inGroup("g", "a"));
  bench.pass(1);
  bench.send("q.fifo", inGroup("g", "b"));
  bench.pass(299_999);
  bench.ok("peek", { queue: "q.fifo", afterSeq: 0, limit: 1 });
  expect(nextHousekeepingAt(bench.state)).toBe(0); // The store still has them.
  runHousekeeping(bench.state, bench.step);
  const before = bench.now - 300_000 + 1;
  const { number } = queue.record;
  expect(bench.changes.at(-1)).toEqual({ kind: "expire-dedup", queue: number, before });
  expect(queue.dedup.size).toBe(1);
  const count = bench.changes.length;
  runHousekeeping(bench.state, bench.step);
  expect(bench.changes.length).toBe(count);
});

test("names of deleted queues become free after their wait", () => {
  const bench = new ModelBench();
  bench.create("q");
  bench.ok("deleteQueue", { queue: "q" });
  bench.pass(59_999);
  runHousekeeping(bench.state, bench.step);
  expect(bench.state.deletedNames.size).toBe(1);
  bench.pass(1);
  runHousekeeping(bench.state, bench.step);
  expect(bench.state.deletedNames.size).toBe(0);
  expect(bench.changes.at(-1)).toEqual({
    kind: "delete-document",
    collection: "deleted-queue",
    key: "q",
  });
});

test("housekeeping removes expired messages from queues without requests", () => {
  const bench = new ModelBench();
  const queue = bench.create("q", { MessageRetentionPeriod: "60" });
  bench.send("q", entry("a"));
  bench.pass(60_000);
  runHousekeeping(bench.state, bench.step);
  expect(queue.total).toBe(0);
  sweepGarbage(bench.state, bench.step);
  expect(bench.contents.size).toBe(0);
});
