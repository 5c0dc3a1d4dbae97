import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";

const MESSAGES = 1_200;
/** Pending settlements plus deliveries in flight. */
const RECEIVED_MAX = 1_000 + 20;

test("the consumer stops receiving while too many settlements are pending (S5)", async () => {
  let recover: () => void = () => {};
  const recovered = new Promise<void>((resolve) => {
    recover = resolve;
  });
  await using world = await createConsumerWorld({
    pipeline: { visibilityMs: 3_600_000 } as never,
    wrapQueue: (queue) => ({
      ...queue,
      async deleteBatch(receipts) {
        await recovered;
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
  expect(received).toBeLessThanOrEqual(RECEIVED_MAX);
  expect(committed).toBe(received);
  recover();
  await world.pass(20_000);
  expect(consumer.snapshot()).toMatchObject({ received: MESSAGES, committed: MESSAGES });
  expect(await world.depth()).toBe(0);
});
