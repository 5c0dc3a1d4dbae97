import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";

const MESSAGES = 1_200;
/** What may wait to be told, and what may be in hand besides. */
const TAKEN_MAX = 1_000 + 20;

test("a queue that does not hear of settlements is not asked for more without bound (S5)", async () => {
  let hear: () => void = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  await using world = await createConsumerWorld({
    pipeline: { visibilityMs: 3_600_000 } as never,
    wrapQueue: (queue) => ({
      ...queue,
      async deleteBatch(receipts) {
        await heard;
        return queue.deleteBatch(receipts);
      },
    }),
  });
  for (let at = 0; at < MESSAGES; at += 1) await world.send(`k${at}`);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(20_000);
  const { received, committed } = consumer.snapshot();
  expect(received).toBeGreaterThanOrEqual(1_000);
  expect(received).toBeLessThanOrEqual(TAKEN_MAX);
  expect(committed).toBe(received);
  hear();
  await world.pass(20_000);
  expect(consumer.snapshot()).toMatchObject({ received: MESSAGES, committed: MESSAGES });
  expect(await world.depth()).toBe(0);
});
