// A consumer that ends by itself: after a number of messages, or when its queue is empty (U4).

import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";

/** Whether the promise has resolved by now. */
async function isResolved(promise: Promise<void>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => {
    resolved = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return resolved;
}

test.each([1, 7, 10, 25])(
  "a consumer of %d messages receives that many, settles them, and no more",
  async (messagesMax) => {
    let finish = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await using world = await createConsumerWorld({ handler: () => gate });
    for (let at = 0; at < 40; at += 1) await world.send(`k${at}`);
    const consumer = world.consumer("one", { messagesMax });
    await consumer.start();
    await world.pass(3_000);
    expect(await isResolved(consumer.finished)).toBe(false);
    finish();
    await world.pass(30_000);
    expect(await isResolved(consumer.finished)).toBe(true);
    expect(consumer.snapshot()).toMatchObject({ received: messagesMax, committed: messagesMax });
    expect(await world.depth()).toBe(40 - messagesMax);
  },
);

test("emptied resolves when a receive returns nothing and nothing is in flight, not before", async () => {
  let finish = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await using world = await createConsumerWorld({ handler: () => gate });
  await world.send("a");
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(45_000); // A long poll of 20 seconds has returned nothing meanwhile.
  expect(await isResolved(consumer.emptied)).toBe(false);
  finish();
  await world.pass(25_000);
  expect(await isResolved(consumer.emptied)).toBe(true);
});

test("a receive that fails does not count as an empty queue", async () => {
  let down = true;
  await using world = await createConsumerWorld({
    wrapQueue: (queue) => ({
      ...queue,
      receive: (...args) => (down ? Promise.reject(new Error("down")) : queue.receive(...args)),
    }),
  });
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(60_000);
  expect(await isResolved(consumer.emptied)).toBe(false);
  down = false;
  await world.pass(60_000);
  expect(await isResolved(consumer.emptied)).toBe(true);
});
