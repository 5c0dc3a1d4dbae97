// T5: a dispatcher that deletes the message when the work starts loses all work that crashes. Here
// the worker holds the receipt, and the message is not deleted before the commit is durable.

import { expect, test } from "vitest";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";

test("T5: the record of a crashed worker is redelivered and processed by another", async () => {
  const began: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: { visibilityMs: 30_000 },
    handler: (_event, { attempt }) => {
      began.push(`attempt ${attempt}`);
      return attempt === 1 ? new Promise<void>(() => undefined) : undefined;
    },
    // The first worker dies as soon as it starts: none of its calls reach the queue any more.
    wrapQueue: (queue) => (began.length === 0 ? diesWhen(queue, () => began.length > 0) : queue),
  });
  await world.send("file");
  await world.consumer("dies").start();
  await world.pass(1_000);
  expect(began).toEqual(["attempt 1"]);
  expect(await world.depth()).toBe(1);
  const second = world.consumer("lives");
  await second.start();
  await world.pass(200_000);
  expect(began).toEqual(["attempt 1", "attempt 2"]);
  expect(second.snapshot()).toMatchObject({ committed: 1 });
  expect(await world.depth()).toBe(0);
});

test("T5: the acknowledgement is sent after the commit, never before", async () => {
  const order: string[] = [];
  await using world = await createConsumerWorld({
    handler: () => void order.push("handled"),
    ledger: ({ clock }) => {
      const ledger = createMemoryLedger({ clock });
      return {
        ...ledger,
        async commit(scope, commits) {
          const results = await ledger.commit(scope, commits);
          order.push("committed");
          return results;
        },
      };
    },
    wrapQueue: (queue) => ({
      ...queue,
      deleteBatch(receipts) {
        order.push("acknowledged");
        return queue.deleteBatch(receipts);
      },
    }),
  });
  await world.send("file");
  await world.consumer().start();
  await world.pass(1_000);
  expect(order).toEqual(["handled", "committed", "acknowledged"]);
});

/** A queue that a dead process no longer talks to. */
function diesWhen(queue: Queue, dead: () => boolean): Queue {
  const never = new Promise<never>(() => undefined);
  return {
    ...queue,
    receive: (request, signal) => (dead() ? never : queue.receive(request, signal)),
    deleteBatch: (receipts) => (dead() ? never : queue.deleteBatch(receipts)),
    changeVisibility: (changes) => (dead() ? never : queue.changeVisibility(changes)),
  };
}
