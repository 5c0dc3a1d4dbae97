// Consumer looks: helpers for tests of bad input, which run a consumer and inspect the results.

import type { Sink } from "../../src/ports/sink.ts";
import type { ConsumerWorld } from "./consumer-world.ts";

/** The dossiers of all dead-lettered records. */
export async function dossiers(world: ConsumerWorld): Promise<Record<string, unknown>[]> {
  const page = { after: null, limit: 100 };
  const notes = await world.ledger.listNotes({ pipeline: "test", generation: 0 }, "dossier", page);
  return notes.map(({ body }) => JSON.parse(body));
}

/** Starts a consumer and gives it time. */
export async function run(world: ConsumerWorld, ms = 10_000) {
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(ms);
  return consumer;
}

/** The number of messages in the queue and in its dead-letter queue. */
export async function depths(world: ConsumerWorld): Promise<number[]> {
  return [await world.depth(), await world.depth(world.deadLetters)];
}

/** An idempotent sink. */
export function sinkOf(
  apply: (effects: readonly unknown[], signal: AbortSignal) => Promise<void>,
): Sink {
  const nothing = async () => undefined;
  return {
    mode: "idempotent",
    prepare: nothing,
    close: nothing,
    apply: (effects, _origin, signal) => apply(effects, signal),
  };
}
