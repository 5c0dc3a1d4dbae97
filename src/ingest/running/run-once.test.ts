// How often a handler runs for a record that arrives in several messages.

import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Consumer } from "./consumer.ts";

const LEASES = ["auto", "receipt", "ledger"] as const;

function countingHandler() {
  const runs: string[] = [];
  const handler = (event: { envelope: { dedupe_key: string } }) =>
    void runs.push(event.envelope.dedupe_key);
  return { runs, handler };
}

test.each(LEASES)(
  "with lease %s, a copy of a committed record does not run the handler again",
  async (lease) => {
    const { runs, handler } = countingHandler();
    await using world = await createConsumerWorld({ handler, pipeline: { lease } });
    await world.send("a");
    await world.consumer().start();
    await world.pass(2_000);
    await world.send("a");
    await world.pass(2_000);
    expect(runs).toEqual(["a"]);
    expect(await world.depth()).toBe(0);
  },
);

test.each(LEASES)(
  "with lease %s, a copy that another process receives does not run the handler again",
  async (lease) => {
    const { runs, handler } = countingHandler();
    await using world = await createConsumerWorld({ handler, pipeline: { lease } });
    await world.send("a");
    const first = world.consumer();
    await first.start();
    await world.pass(2_000);
    const stopped = first.stop();
    await world.pass(5_000);
    await stopped;
    await world.send("a");
    const second = world.consumer();
    await second.start();
    await world.pass(2_000);
    expect(runs).toEqual(["a"]);
    expect(second.snapshot()).toMatchObject({ committed: 0, duplicates: 1 });
    expect(await world.depth()).toBe(0);
  },
);

/** The queue for a consumer that receives one batch. */
function receivesOnce(queue: Queue): Queue {
  let received = false;
  return {
    ...queue,
    async receive(request, signal) {
      if (received)
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve([])));
      const deliveries = await queue.receive(request, signal);
      received = deliveries.length > 0;
      return deliveries;
    },
  };
}

test("copies that overlap in two processes on receipts both run, and one of them commits", async () => {
  const runs: string[] = [];
  let finish = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const handler = async (event: { envelope: { dedupe_key: string } }) => {
    runs.push(event.envelope.dedupe_key);
    await gate;
  };
  const pipeline = { lease: "receipt" } as const;
  await using world = await createConsumerWorld({ handler, pipeline });
  const consumers: Consumer[] = [];
  for (const owner of ["one", "two"]) {
    await world.send("a");
    const consumer = world.consumer(owner, { queue: receivesOnce(world.queue) });
    consumers.push(consumer);
    await consumer.start();
    await world.pass(1_000);
  }
  finish();
  await world.pass(10_000);
  const committed = consumers.map((consumer) => consumer.snapshot().committed);
  expect(committed.toSorted()).toEqual([0, 1]);
  expect(runs).toEqual(["a", "a"]);
  expect(await world.depth()).toBe(0);
});
