// Consumer looks: what a test of bad input does in a world for consumers, and looks at afterwards.

import type { Sink } from "../../src/ports/sink.ts";
import type { ConsumerWorld } from "./consumer-world.ts";

/** What was written about every record that was given up on. */
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

/** How many messages wait, in the queue and among its dead letters. */
export async function depths(world: ConsumerWorld): Promise<number[]> {
  return [await world.depth(), await world.depth(world.deadLetters)];
}

/** A sink that may be told again. */
export function sinkOf(
  apply: (effects: readonly unknown[], signal: AbortSignal) => Promise<void>,
): Sink {
  const nothing = async () => undefined;
  return {
    ...{ mode: "idempotent", prepare: nothing, close: nothing },
    apply: (effects, _origin, signal) => apply(effects, signal),
  };
}
