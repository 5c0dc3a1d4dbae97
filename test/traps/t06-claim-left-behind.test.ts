// T6: "exits clean; the message goes to the dead-letter queue after three attempts" contradicts
// itself: a clean exit counts nothing, so nothing ever gets there. Here the claim of a crashed
// worker is counted, and the record is committed or dead-lettered, never silently lost.

import { expect, test } from "vitest";
import { durationMs } from "../../src/core/units.ts";
import { decodeDelivery } from "../../src/ingest/stages/decode.ts";
import type { Delivery } from "../../src/ports/queue-receiver.ts";
import { type ConsumerWorld, createConsumerWorld } from "../support/consumer-world.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";

const LEASE_MS = durationMs(30_000);

/** A worker that receives, claims and then crashes. */
async function crash(world: ConsumerWorld): Promise<void> {
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: LEASE_MS };
  const [delivery] = await world.queue.receive(request, new AbortController().signal);
  const { key } = decodeDelivery(world.pipeline, delivery as Delivery).records[0] ?? {};
  if (key === undefined) throw new Error("nothing was received");
  const scope = { pipeline: "test", generation: 0 };
  const lease = { owner: "crashed", leaseMs: LEASE_MS };
  const [claim] = await world.ledger.claim(
    scope,
    [{ key, input: ANY_INPUT, receivedAt: world.cloud.clock.now() }],
    lease,
  );
  if (claim?.kind !== "claimed") throw new Error(`it is ${claim?.kind}`);
  await world.pass(LEASE_MS + 1_000);
}

test("T6: the claim of a crashed worker is taken over and committed", async () => {
  const attempts: number[] = [];
  await using world = await createConsumerWorld({
    handler: (_event, { attempt }) => void attempts.push(attempt),
  });
  await world.send("file");
  await crash(world);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(5_000);
  expect(attempts).toEqual([2]);
  expect(consumer.snapshot()).toMatchObject({ committed: 1 });
  expect(await world.depth()).toBe(0);
});

test("T6: a record that crashes every worker is dead-lettered with that reason", async () => {
  const calls: string[] = [];
  await using world = await createConsumerWorld({
    pipeline: { retry: { attempts: 3 } },
    handler: () => void calls.push("file"),
  });
  await world.send("file");
  for (let n = 0; n < 3; n += 1) await crash(world);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(5_000);
  expect(calls).toEqual([]);
  expect(consumer.snapshot()).toMatchObject({ committed: 0, deadLettered: 1 });
  expect([await world.depth(), await world.depth(world.deadLetters)]).toEqual([0, 1]);
  const page = { after: null, limit: 10 };
  const notes = await world.ledger.listNotes({ pipeline: "test", generation: 0 }, "dossier", page);
  expect(JSON.parse(notes[0]?.body ?? "{}")).toMatchObject({ error_class: "crash" });
});

test("T6: a duplicate of a record with an orphaned claim is redelivered when the lease expires", async () => {
  const calls: string[] = [];
  await using world = await createConsumerWorld({ handler: () => void calls.push("file") });
  await world.send("file");
  await world.send("file");
  await crash(world);
  await world.consumer().start();
  await world.pass(70_000);
  expect(calls).toEqual(["file"]);
  expect([await world.depth(), await world.depth(world.deadLetters)]).toEqual([0, 0]);
});
