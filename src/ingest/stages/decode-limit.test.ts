import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { durationMs } from "../../core/units.ts";
import type { CallLimit } from "../../ports/call-limit.ts";

/** As if every limited call took too long; the real limit has its own test. */
const impatient: CallLimit = { run: () => "too-long" };

test("a redelivered message whose decoder never returns is dead-lettered (L2)", async () => {
  const handled: unknown[] = [];
  await using world = await createConsumerWorld({
    callLimit: impatient,
    handler: ((event: { body: unknown }) => void handled.push(event.body)) as never,
    pipeline: { source: { queue: "work", key: () => "k" } } as never,
  });
  await world.sendBody('"stuck"');
  const request = { max: 1, waitMs: durationMs(0), visibilityMs: durationMs(0) };
  await world.queue.receive(request, new AbortController().signal);
  await world.consumer().start();
  await world.pass(5_000);
  expect(handled).toEqual([]);
  expect(await world.depth(world.deadLetters)).toBe(1);
  const [dossier] = await world.ledger.listNotes({ pipeline: "test", generation: 0 }, "dossier", {
    after: null,
    limit: 1,
  });
  expect(dossier?.body).toContain("the functions of source took longer than 5000 ms");
});

test("a first delivery is decoded without a limit, and pays nothing (L2)", async () => {
  const handled: unknown[] = [];
  await using world = await createConsumerWorld({
    callLimit: impatient,
    handler: ((event: { body: unknown }) => void handled.push(event.body)) as never,
    pipeline: { source: { queue: "work", key: () => "k" } } as never,
  });
  await world.consumer().start();
  await world.sendBody('"fine"');
  await world.pass(5_000);
  expect(handled).toEqual(["fine"]);
});
