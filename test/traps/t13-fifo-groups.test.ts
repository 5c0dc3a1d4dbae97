// T13: one receive may return ten messages of one group. Handled concurrently and deleted one by
// one, a failed message is retried after its successors were deleted. Here a group runs one by one
// and stops at its first failure; the messages behind it are returned in order.

import { expect, test } from "vitest";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";

const KEYS = Array.from({ length: 10 }, (_, at) => `a${at}`);

/** A queue that logs its calls per message. */
function listening(calls: string[]) {
  return (queue: Queue): Queue => {
    const keys = new Map<string, string>();
    return {
      ...queue,
      async receive(request, signal) {
        const deliveries = await queue.receive(request, signal);
        for (const { receipt, body } of deliveries) keys.set(receipt, JSON.parse(body).dedupe_key);
        return deliveries;
      },
      deleteBatch(receipts) {
        calls.push(...receipts.map((receipt) => `delete ${keys.get(receipt)}`));
        return queue.deleteBatch(receipts);
      },
      changeVisibility(changes) {
        calls.push(...changes.map(({ receipt }) => `return ${keys.get(receipt)}`));
        return queue.changeVisibility(changes);
      },
    };
  };
}

test("T13: a group runs one by one and in order, though it was received in one batch", async () => {
  const order: string[] = [];
  let atWork = 0;
  let most = 0;
  await using world = await createConsumerWorld({
    queue: "orders.fifo",
    handler: async ({ envelope }) => {
      atWork += 1;
      most = Math.max(most, atWork);
      await Promise.resolve();
      order.push(envelope.dedupe_key);
      atWork -= 1;
    },
  });
  for (const key of KEYS) await world.send(key, {}, "a");
  await world.consumer().start();
  await world.pass(2_000);
  expect(order).toEqual(KEYS);
  expect(most).toBe(1);
});

test("T13: no message behind a failure is deleted before it, and the rest is returned in order", async () => {
  const calls: string[] = [];
  const done: string[] = [];
  let broken = true;
  await using world = await createConsumerWorld({
    queue: "orders.fifo",
    wrapQueue: listening(calls),
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "a3" && broken) throw new Error("not now");
      done.push(envelope.dedupe_key);
    },
  });
  for (const key of KEYS) await world.send(key, {}, "a");
  for (const key of ["b0", "b1", "b2"]) await world.send(key, {}, "b");
  await world.consumer().start();
  await world.pass(300);
  const ofGroup = (letter: string) => calls.filter((line) => line.includes(` ${letter}`));
  expect(ofGroup("a").filter((line) => line.startsWith("delete"))).toEqual([
    "delete a0",
    "delete a1",
    "delete a2",
  ]);
  expect(ofGroup("a").filter((line) => line.startsWith("return"))).toEqual(
    KEYS.slice(3).map((key) => `return ${key}`),
  );
  expect(done.filter((key) => key.startsWith("b"))).toEqual(["b0", "b1", "b2"]);
  broken = false;
  await world.pass(60_000);
  expect(done.filter((key) => key.startsWith("a"))).toEqual(KEYS);
  expect(await world.depth()).toBe(0);
});

test("T13: a group waits behind a dead-lettered record, while others continue", async () => {
  const done: string[] = [];
  await using world = await createConsumerWorld({
    queue: "orders.fifo",
    pipeline: { retry: { attempts: 1 } },
    handler: ({ envelope }) => {
      if (envelope.dedupe_key === "a0") throw new Error("never");
      done.push(envelope.dedupe_key);
    },
  });
  for (const key of ["a0", "a1"]) await world.send(key, {}, "a");
  await world.consumer().start();
  await world.pass(5_000);
  await world.send("b0", {}, "b");
  await world.pass(60_000);
  expect(done).toEqual(["b0"]);
  expect(await world.depth()).toBe(2);
});
