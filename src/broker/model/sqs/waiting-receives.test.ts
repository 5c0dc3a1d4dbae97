import { expect, test } from "vitest";
import { entry, ModelBench, receiveInput } from "../../../../test/support/broker/model-bench.ts";
import { durationMs, epochMs } from "../../../core/units.ts";
import { WaitingReceives } from "./waiting-receives.ts";

test("long polls keep their order after one is removed", () => {
  const bench = new ModelBench();
  const [a, b] = [bench.create("a"), bench.create("b")];
  const waiting = new WaitingReceives();
  const add = (queue: typeof a) => waiting.add(queue, receiveInput("x"), epochMs(9));
  const ids = [add(a), add(b), add(a), add(a)] as const;
  waiting.remove(ids[2]);
  waiting.remove(99);
  expect([...waiting.waitersOf(a)].map(({ id }) => id)).toEqual([ids[0], ids[3]]);
  expect([...waiting.touched()]).toEqual([a, b]);
  waiting.remove(ids[1]);
  expect([...waiting.touched()]).toEqual([a]);
  expect([...waiting.waitersOf(b)]).toEqual([]);
  expect(waiting.size).toBe(2);
});

test("the next wake is the earliest of all deadlines and of what becomes due (W2)", () => {
  const bench = new ModelBench();
  const [a, b] = [bench.create("a"), bench.create("b")];
  const waiting = new WaitingReceives();
  expect(waiting.nextWakeAt()).toBe(null);
  waiting.add(a, receiveInput("a"), epochMs(bench.now + 9_000));
  waiting.add(b, receiveInput("b"), epochMs(bench.now + 8_000));
  expect(waiting.nextWakeAt()).toBe(bench.now + 8_000);
  bench.send("a", entry("x", { delayMs: durationMs(3_000) }));
  expect(waiting.nextWakeAt()).toBe(bench.now + 3_000);
});

test("a queue without long polls wakes none", () => {
  const bench = new ModelBench();
  bench.create("a");
  bench.send("a", entry("x", { delayMs: durationMs(3_000) }));
  expect(new WaitingReceives().nextWakeAt()).toBe(null);
});
