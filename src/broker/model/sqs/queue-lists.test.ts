import fc from "fast-check";
import { expect, test } from "vitest";
import { arn, entry, inGroup, ModelBench } from "../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../core/units.ts";

function allPages(bench: ModelBench, prefix: string, limit: number): string[][] {
  const pages: string[][] = [];
  let token: string | null = null;
  do {
    const page: { names: string[]; nextToken: string | null } = bench.ok("listQueues", {
      prefix,
      page: { limit, token },
    });
    pages.push(page.names);
    token = page.nextToken;
  } while (token !== null);
  return pages;
}

test("pages hold every queue once, sorted, and only the last may be short", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 25 }), fc.integer({ min: 1, max: 9 }), (count, limit) => {
      const bench = new ModelBench();
      const names = Array.from({ length: count }, (_, index) => `q${(index * 7) % 25}`);
      for (const name of names) bench.create(name);
      const pages = allPages(bench, "q", limit);
      expect(pages.flat()).toEqual(names.toSorted());
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("a page continues after the last name, even if that queue is deleted", () => {
  const bench = new ModelBench();
  for (const name of ["a", "b", "c"]) bench.create(name);
  const first = bench.ok("listQueues", { prefix: "", page: { limit: 2, token: null } });
  bench.ok("deleteQueue", { queue: "b" });
  const page = { limit: 2, token: first.nextToken };
  expect(bench.ok("listQueues", { prefix: "", page })).toEqual({ names: ["c"], nextToken: null });
});

test("an invalid token is refused; a prefix is case-sensitive", () => {
  const bench = new ModelBench();
  bench.create("a");
  const page = { limit: 2, token: "not a token!" };
  expect(bench.fault("listQueues", { prefix: "", page }).name).toBe("InvalidParameterValue");
  expect(bench.ok("listQueues", { prefix: "A", page: null }).names).toEqual([]);
});

test("the sources of a dead-letter queue are those whose policy names it", () => {
  const bench = new ModelBench();
  bench.create("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: arn("dead"), maxReceiveCount: 1 });
  for (const name of ["s2", "s1", "other"]) bench.create(name);
  for (const name of ["s2", "s1"]) bench.set(name, { RedrivePolicy });
  const list = () => bench.ok("listDeadLetterSources", { queue: "dead", page: null }).names;
  expect(list()).toEqual(["s1", "s2"]);
  bench.set("s1", { RedrivePolicy: "" });
  expect(list()).toEqual(["s2"]);
});

test("counting returns the counts of every queue without changing it", () => {
  const bench = new ModelBench();
  bench.create("a");
  bench.create("b.fifo");
  bench.send("a", entry("1"), entry("2", { delayMs: durationMs(1_000) }));
  const sentAt = bench.now;
  bench.pass(500);
  bench.send("b.fifo", inGroup("g", "1"), inGroup("g", "2"));
  bench.receive("b.fifo", { max: 1 });
  const rows = bench.ok("countQueues", { prefix: "" }).queues;
  expect(rows).toEqual([
    { name: "a", fifo: false, visible: 1, delayed: 1, inFlight: 0, oldestSentAt: sentAt },
    { name: "b.fifo", fifo: true, visible: 1, delayed: 0, inFlight: 1, oldestSentAt: sentAt + 500 },
  ]);
  expect(bench.ok("countQueues", { prefix: "" }).queues).toEqual(rows);
});

test("peeking pages through a queue in order of sending and receives nothing", () => {
  const bench = new ModelBench();
  bench.create("q");
  const sent = ["a", "b", "c", "d", "e"];
  bench.send("q", entry("late", { delayMs: durationMs(1_000) }), ...sent.map((s) => entry(s)));
  bench.receive("q", { max: 1 });
  const pages: string[][] = [];
  let afterSeq: number | null = 0;
  while (afterSeq !== null) {
    const page: { messages: { body: string; state: string }[]; nextAfterSeq: number | null } =
      bench.ok("peek", { queue: "q", afterSeq, limit: 4 });
    pages.push(page.messages.map(({ body, state }) => `${body} ${state}`));
    afterSeq = page.nextAfterSeq;
  }
  expect(pages).toEqual([
    ["late delayed", "a in-flight", "b visible", "c visible"],
    ["d visible", "e visible"],
  ]);
  expect(bench.counts("q")).toEqual([4, 1, 1]);
});

test("a page that ends with the last message has no next page", () => {
  const bench = new ModelBench();
  bench.create("q");
  const empty = { messages: [], nextAfterSeq: null };
  expect(bench.ok("peek", { queue: "q", afterSeq: 0, limit: 2 })).toEqual(empty);
  bench.send("q", entry("a"), entry("b"));
  expect(bench.ok("peek", { queue: "q", afterSeq: 0, limit: 2 }).nextAfterSeq).toBe(null);
});
