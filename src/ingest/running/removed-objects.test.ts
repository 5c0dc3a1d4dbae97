// What a pipeline does with the events of removed objects.

import { expect, test } from "vitest";
import { createConsumerWorld, type Handler } from "../../../test/support/consumer-world.ts";
import { runRedrive } from "../../../test/support/dead-letter-world.ts";
import type { EffectOrigin, Sink } from "../../ports/sink.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import type { OnRemoved } from "../spec/pipeline-spec.ts";

/** A sink that stores what it is asked to apply. */
function recordingSink() {
  const applied: { readonly object: EffectOrigin["object"]; readonly effects: number }[] = [];
  const sink: Sink = {
    mode: "idempotent",
    prepare: async () => {},
    async apply(effects, { object }) {
      applied.push({ object, effects: effects.length });
    },
    close: async () => {},
  };
  return { applied, sink };
}

const upload: Handler = async (event, { emit }) => {
  const { kind, object } = event as unknown as { kind: string; object: { key: string } };
  emit(`${kind} ${object.key}`);
};

async function worldWith(onRemoved: OnRemoved | undefined, handler: Handler = upload) {
  const { applied, sink } = recordingSink();
  const pipeline = onRemoved === undefined ? {} : { onRemoved };
  const world = await createConsumerWorld({ bucket: "files", handler, sink, pipeline });
  return { world, applied };
}

test("by default, moving an ingested file away neither runs the handler nor makes a dead letter", async () => {
  const { world, applied } = await worldWith(undefined);
  await using _ = world;
  const consumer = world.consumer();
  await consumer.start();
  await world.put("a.csv", "x");
  await world.pass(2_000);
  await world.remove("a.csv");
  await world.pass(2_000);
  expect(applied).toMatchObject([{ object: { key: "a.csv", removed: false }, effects: 1 }]);
  // The other one is S3's test event.
  expect(consumer.snapshot()).toMatchObject({ committed: 1, ignored: 2, deadLettered: 0 });
  expect(await world.depth()).toBe(0);
  expect(await world.depth(world.deadLetters)).toBe(0);
});

test("with handle, the handler gets the removal, and so does the sink", async () => {
  const { world, applied } = await worldWith("handle");
  await using _ = world;
  await world.consumer().start();
  await world.put("a.csv", "x");
  await world.pass(2_000);
  await world.remove("a.csv");
  await world.pass(2_000);
  expect(applied).toMatchObject([
    { object: { key: "a.csv", removed: false }, effects: 1 },
    { object: { key: "a.csv", removed: true }, effects: 1 },
  ]);
});

test("a file that is uploaded again after an ignored removal is processed again", async () => {
  const { world, applied } = await worldWith("ignore");
  await using _ = world;
  await world.consumer().start();
  for (const content of ["x", "x"]) {
    await world.put("a.csv", content);
    await world.pass(2_000);
    await world.remove("a.csv");
    await world.pass(2_000);
  }
  expect(applied).toHaveLength(2);
});

test("a dead letter of a removal that is redriven after the switch to ignore commits without effects", async () => {
  const fails: Handler = (event) => {
    if ((event as unknown as { kind: string }).kind === "removed") throw new PermanentError("no");
  };
  const { world, applied } = await worldWith("handle", fails);
  await using _ = world;
  const first = world.consumer();
  await first.start();
  await world.put("a.csv", "x");
  await world.pass(2_000);
  await world.remove("a.csv");
  await world.pass(2_000);
  expect(await world.depth(world.deadLetters)).toBe(1);
  const stopped = first.stop();
  await world.pass(5_000);
  await stopped;
  const before = applied.length;
  await world.consumer("two", { pipeline: { ...world.pipeline, onRemoved: "ignore" } }).start();
  const { summary } = await runRedrive(world);
  expect(summary).toMatchObject({ sent: 1, committed: 1 });
  expect(applied).toHaveLength(before);
});
