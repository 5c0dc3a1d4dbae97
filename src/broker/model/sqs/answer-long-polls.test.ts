import { expect, test, vi } from "vitest";
import {
  bodiesOf,
  entry,
  inGroup,
  ModelBench,
} from "../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../core/units.ts";
import { QueueState } from "./queue.ts";

function createBench(name = "q", attributes: Record<string, string> = {}): ModelBench {
  const bench = new ModelBench();
  bench.create(name, attributes);
  return bench;
}

test("a send wakes the one who waits, who takes what there is and does not wait for more", () => {
  const bench = createBench();
  const id = bench.poll("q", 20_000);
  expect(bench.settle().size).toBe(0);
  bench.send("q", entry("a"));
  expect(bodiesOf(bench.settle().get(id))).toEqual(["a"]);
  expect(bench.state.waiting.size).toBe(0);
});

test("who waits longest is served first", () => {
  const bench = createBench();
  const ids = [1, 2, 3].map(() => bench.poll("q", 20_000, { max: 1 }));
  bench.send("q", entry("a"), entry("b"));
  const settled = bench.settle();
  expect(ids.map((id) => bodiesOf(settled.get(id)))).toEqual([["a"], ["b"], null]);
  bench.send("q", entry("c"));
  expect(bodiesOf(bench.settle().get(ids[2] as number))).toEqual(["c"]);
});

test("the end of a visibility timeout wakes (W1), and is when the alarm must ring (W2)", () => {
  const bench = createBench();
  bench.send("q", entry("a"));
  bench.receive("q", { visibilityMs: durationMs(5_000) });
  const id = bench.poll("q", 20_000);
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 5_000);
  bench.pass(4_999);
  expect(bench.settle().size).toBe(0);
  bench.pass(1);
  expect(bodiesOf(bench.settle().get(id))).toEqual(["a"]);
});

test("the end of a delay wakes, too", () => {
  const bench = createBench("q.fifo", { DelaySeconds: "3" });
  bench.send("q.fifo", inGroup("g", "a"));
  const id = bench.poll("q.fifo", 20_000);
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 3_000);
  bench.pass(3_000);
  expect(bodiesOf(bench.settle().get(id))).toEqual(["a"]);
});

test("a group that is freed wakes", () => {
  const bench = createBench("q.fifo");
  bench.send("q.fifo", inGroup("g", "1"), inGroup("g", "2"));
  const held = bench.receive("q.fifo", { max: 1 });
  const id = bench.poll("q.fifo", 20_000);
  expect(bench.settle().size).toBe(0);
  bench.delete("q.fifo", ...held);
  expect(bodiesOf(bench.settle().get(id))).toEqual(["2"]);
});

test("when its time is over a receive is answered with nothing, to the millisecond", () => {
  const bench = createBench();
  const ids = [bench.poll("q", 20_000), bench.poll("q", 5_000)];
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 5_000);
  bench.pass(4_999);
  expect(bench.settle().size).toBe(0);
  bench.pass(1);
  expect([...bench.settle().keys()]).toEqual([ids[1]]);
  bench.pass(15_000);
  const settled = bench.settle();
  expect(bodiesOf(settled.get(ids[0] as number))).toEqual([]);
  expect(bench.state.waiting.nextWakeAt()).toBe(null);
});

test("a message that comes at the very end of the wait is still delivered", () => {
  const bench = createBench();
  const id = bench.poll("q", 1_000);
  bench.pass(1_000);
  bench.send("q", entry("a"));
  expect(bodiesOf(bench.settle().get(id))).toEqual(["a"]);
});

test("whoever waits for a queue that is deleted is told so, even if its name lives again", () => {
  const bench = createBench();
  const id = bench.poll("q", 900_000);
  bench.ok("deleteQueue", { queue: "q" });
  bench.pass(60_000);
  bench.create("q");
  expect(bench.settle().get(id)).toMatchObject({ ok: false, fault: { name: "QueueDoesNotExist" } });
});

test("one who gave up takes nothing, and the next in line is served", () => {
  const bench = createBench();
  const [first, second] = [bench.poll("q", 20_000), bench.poll("q", 20_000)];
  bench.state.waiting.remove(first);
  bench.state.waiting.remove(first);
  bench.send("q", entry("a"));
  const settled = bench.settle();
  expect(settled.has(first)).toBe(false);
  expect(bodiesOf(settled.get(second))).toEqual(["a"]);
});

test("queues do not wake each other's waiters", () => {
  const bench = createBench();
  bench.create("other");
  const id = bench.poll("q", 20_000);
  bench.send("other", entry("a"));
  expect(bench.settle().size).toBe(0);
  const waiting = (name: string) => [...bench.state.waiting.waitersOf(bench.queue(name))];
  expect(waiting("q").map((receive) => receive.id)).toEqual([id]);
  expect(waiting("other")).toEqual([]);
});

test("a receive that comes later is not served before those who wait (S2)", () => {
  const bench = createBench();
  const ids = [1, 2].map(() => bench.poll("q", 20_000, { max: 1 }));
  bench.settle();
  bench.send("q", entry("a"), entry("b"), entry("c"));
  expect(bench.bodies("q", { max: 1 })).toEqual(["c"]);
  const settled = bench.settle();
  expect(ids.map((id) => bodiesOf(settled.get(id)))).toEqual([["a"], ["b"]]);
});

test("a group whose message in flight expires is free, and the alarm rings for it (W2)", () => {
  const bench = createBench("q.fifo", { MessageRetentionPeriod: "60" });
  bench.send("q.fifo", inGroup("g", "old"));
  bench.pass(50_000);
  bench.send("q.fifo", inGroup("g", "new"));
  bench.receive("q.fifo", { max: 1, visibilityMs: durationMs(900_000) });
  const id = bench.poll("q.fifo", 20_000);
  bench.settle();
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 10_000);
  bench.pass(10_000);
  expect(bodiesOf(bench.settle().get(id))).toEqual(["new"]);
});

test("a step pays for queues that changed, not for all that somebody waits for (W3)", () => {
  const bench = createBench();
  for (let number = 0; number < 500; number += 1) {
    bench.create(`idle-${number}`);
    bench.poll(`idle-${number}`, 20_000);
  }
  bench.settle();
  const looks = vi.spyOn(QueueState.prototype, "advance");
  bench.poll("q", 20_000);
  bench.send("q", entry("a"));
  expect(bench.settle().size).toBe(1);
  expect(looks.mock.calls.length).toBeLessThan(10);
  looks.mockClear();
  bench.pass(1_000);
  expect(bench.settle().size).toBe(0);
  expect(looks).not.toHaveBeenCalled();
  looks.mockRestore();
});
