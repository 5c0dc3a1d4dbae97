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
