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

test("a send wakes a long poll, which takes the available messages and does not wait for more", () => {
  const bench = createBench();
  const id = bench.poll("q", 20_000);
  expect(bench.answerLongPolls().size).toBe(0);
  bench.send("q", entry("a"));
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["a"]);
  expect(bench.state.waiting.size).toBe(0);
});

test("the longest wait is served first", () => {
  const bench = createBench();
  const ids = [1, 2, 3].map(() => bench.poll("q", 20_000, { max: 1 }));
  bench.send("q", entry("a"), entry("b"));
  const answers = bench.answerLongPolls();
  expect(ids.map((id) => bodiesOf(answers.get(id)))).toEqual([["a"], ["b"], null]);
  bench.send("q", entry("c"));
  expect(bodiesOf(bench.answerLongPolls().get(ids[2] as number))).toEqual(["c"]);
});

test("the end of a visibility timeout wakes (W1), and is when the alarm must ring (W2)", () => {
  const bench = createBench();
  bench.send("q", entry("a"));
  bench.receive("q", { visibilityMs: durationMs(5_000) });
  const id = bench.poll("q", 20_000);
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 5_000);
  bench.pass(4_999);
  expect(bench.answerLongPolls().size).toBe(0);
  bench.pass(1);
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["a"]);
});

test("the end of a delay wakes a long poll", () => {
  const bench = createBench("q.fifo", { DelaySeconds: "3" });
  bench.send("q.fifo", inGroup("g", "a"));
  const id = bench.poll("q.fifo", 20_000);
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 3_000);
  bench.pass(3_000);
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["a"]);
});

test("an unblocked group wakes a long poll", () => {
  const bench = createBench("q.fifo");
  bench.send("q.fifo", inGroup("g", "1"), inGroup("g", "2"));
  const held = bench.receive("q.fifo", { max: 1 });
  const id = bench.poll("q.fifo", 20_000);
  expect(bench.answerLongPolls().size).toBe(0);
  bench.delete("q.fifo", ...held);
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["2"]);
});

test("a long poll ends without messages when its time is over, to the millisecond", () => {
  const bench = createBench();
  const ids = [bench.poll("q", 20_000), bench.poll("q", 5_000)];
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 5_000);
  bench.pass(4_999);
  expect(bench.answerLongPolls().size).toBe(0);
  bench.pass(1);
  expect([...bench.answerLongPolls().keys()]).toEqual([ids[1]]);
  bench.pass(15_000);
  const answers = bench.answerLongPolls();
  expect(bodiesOf(answers.get(ids[0] as number))).toEqual([]);
  expect(bench.state.waiting.nextWakeAt()).toBe(null);
});

test("a message that comes at the very end of the wait is still delivered", () => {
  const bench = createBench();
  const id = bench.poll("q", 1_000);
  bench.pass(1_000);
  bench.send("q", entry("a"));
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["a"]);
});

test("deleting a queue refuses its long polls, even if a new queue has the same name", () => {
  const bench = createBench();
  const id = bench.poll("q", 900_000);
  bench.ok("deleteQueue", { queue: "q" });
  bench.pass(60_000);
  bench.create("q");
  expect(bench.answerLongPolls().get(id)).toMatchObject({
    ok: false,
    fault: { name: "QueueDoesNotExist" },
  });
});

test("an aborted long poll takes nothing, and the next one is served", () => {
  const bench = createBench();
  const [first, second] = [bench.poll("q", 20_000), bench.poll("q", 20_000)];
  bench.state.waiting.remove(first);
  bench.state.waiting.remove(first);
  bench.send("q", entry("a"));
  const answers = bench.answerLongPolls();
  expect(answers.has(first)).toBe(false);
  expect(bodiesOf(answers.get(second))).toEqual(["a"]);
});

test("queues do not wake each other's long polls", () => {
  const bench = createBench();
  bench.create("other");
  const id = bench.poll("q", 20_000);
  bench.send("other", entry("a"));
  expect(bench.answerLongPolls().size).toBe(0);
  const waiting = (name: string) => [...bench.state.waiting.waitersOf(bench.queue(name))];
  expect(waiting("q").map((receive) => receive.id)).toEqual([id]);
  expect(waiting("other")).toEqual([]);
});

test("a later receive is not served before earlier long polls (S2)", () => {
  const bench = createBench();
  const ids = [1, 2].map(() => bench.poll("q", 20_000, { max: 1 }));
  bench.answerLongPolls();
  bench.send("q", entry("a"), entry("b"), entry("c"));
  expect(bench.bodies("q", { max: 1 })).toEqual(["c"]);
  const answers = bench.answerLongPolls();
  expect(ids.map((id) => bodiesOf(answers.get(id)))).toEqual([["a"], ["b"]]);
});

test("a group whose message in flight expires is free, and the alarm rings for it (W2)", () => {
  const bench = createBench("q.fifo", { MessageRetentionPeriod: "60" });
  bench.send("q.fifo", inGroup("g", "old"));
  bench.pass(50_000);
  bench.send("q.fifo", inGroup("g", "new"));
  bench.receive("q.fifo", { max: 1, visibilityMs: durationMs(900_000) });
  const id = bench.poll("q.fifo", 20_000);
  bench.answerLongPolls();
  expect(bench.state.waiting.nextWakeAt()).toBe(bench.now + 10_000);
  bench.pass(10_000);
  expect(bodiesOf(bench.answerLongPolls().get(id))).toEqual(["new"]);
});

test("a step pays for queues that changed, not for all queues with long polls (W3)", () => {
  const bench = createBench();
  for (let number = 0; number < 500; number += 1) {
    bench.create(`idle-${number}`);
    bench.poll(`idle-${number}`, 20_000);
  }
  bench.answerLongPolls();
  const looks = vi.spyOn(QueueState.prototype, "advance");
  bench.poll("q", 20_000);
  bench.send("q", entry("a"));
  expect(bench.answerLongPolls().size).toBe(1);
  expect(looks.mock.calls.length).toBeLessThan(10);
  looks.mockClear();
  bench.pass(1_000);
  expect(bench.answerLongPolls().size).toBe(0);
  expect(looks).not.toHaveBeenCalled();
  looks.mockRestore();
});
