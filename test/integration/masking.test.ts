// Masking where what is to be hidden is not in the place one would look for it first.

import { expect, test } from "vitest";
import { writeClaimCheck } from "../../src/core/claim-check.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";

const SECRET = "Ada Lovelace";
const mask = ["payload.name"];

function quote(payload: unknown): never {
  throw new Error(`who is ${(payload as { name: string }).name}?`);
}

test("a payload that was left in a bucket is masked as one in the message would be", async () => {
  await using world = await createConsumerWorld({
    bucket: "payloads",
    handler({ payload }, { log }) {
      log("info", `working on ${payload.name}`);
      quote(payload);
    },
    pipeline: { source: { queue: "work" }, mask, retry: { attempts: 1 } } as never,
  });
  const place = { bucket: "payloads", prefix: "", eventKey: "k" };
  const { check, payload, bytes } = writeClaimCheck(place, { name: SECRET });
  await world.put(check.key, bytes);
  await world.send("k", payload);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  const scope = { pipeline: "test", generation: 0 };
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  const told = JSON.stringify([dossiers, world.logs]);
  expect(told).toContain("who is ***?");
  expect(told).toContain("working on ***");
  expect(told).not.toContain(SECRET);
});

test("what a concurrency key quotes when it throws is masked in the log", async () => {
  const key = ({ payload }: { payload: unknown }) => quote(payload);
  await using world = await createConsumerWorld({
    pipeline: { concurrency: { key }, mask } as never,
  });
  await world.send("k", { name: SECRET });
  await world.consumer().start();
  await world.pass(2_000);
  const told = JSON.stringify(world.logs);
  expect(told).toContain("who is ***?");
  expect(told).not.toContain(SECRET);
});

test.each([
  ["a handler that quotes a row it read before", "handler"],
  ["a sink that quotes what it was given", "sink"],
] as const)("%s is masked", async (_title, where) => {
  const names: string[] = [];
  const refuse = () => {
    throw new Error(`who are ${names.join()}?`);
  };
  await using world = await createConsumerWorld({
    bucket: "people",
    handler: (async (
      event: { rows(): AsyncIterable<{ name: string }> },
      { emit }: { emit(value: unknown): void },
    ) => {
      for await (const { name } of event.rows()) names.push(name);
      emit(names);
      if (where === "handler") refuse();
    }) as never,
    sink: {
      ...{ mode: "idempotent", prepare: async () => {}, close: async () => {} },
      apply: async () => refuse(),
    },
    pipeline: { mask: ["name"], retry: { attempts: 1 } } as never,
  });
  await world.put("people.csv", `name,n\n${SECRET},1\nGrace Hopper,2\n`);
  await world.consumer().start();
  await world.pass(2_000);
  const scope = { pipeline: "test", generation: 0 };
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  expect(dossiers).toHaveLength(1);
  const told = JSON.stringify([dossiers, world.logs]);
  expect(told).toContain("who are ***,***?");
  expect(told).not.toMatch(/Lovelace|Hopper/);
});
