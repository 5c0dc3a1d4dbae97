// Masking where what is to be hidden is not in the place one would look for it first.

import { expect, test } from "vitest";
import { eventLine } from "../../src/cli/reports/dead-letter-text.ts";
import { writeClaimCheck } from "../../src/core/events/claim-check.ts";
import { PermanentError } from "../../src/ingest/spec/handler-errors.ts";
import { describeHistory } from "../../src/run/why/describe-history.ts";
import { findHistories } from "../../src/run/why/event-history.ts";
import { createConsumerWorld } from "../support/consumer-world.ts";
import { listIn, runRedrive } from "../support/dead-letter-world.ts";

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

const PERSONAL_KEY = "people/Ada Lovelace+1815.csv";
const PERSONAL_PATH = "people/Ada%20Lovelace%2B1815.csv";
const scope = { pipeline: "test", generation: 0 };

async function workOn(options: { mask: string[]; handler: unknown; attempts?: number }) {
  const { mask, handler, attempts = 1 } = options;
  const retry = { attempts, baseMs: 600_000, capMs: 600_000 };
  const world = await createConsumerWorld({
    bucket: "people",
    handler: handler as never,
    pipeline: { mask, retry } as never,
  });
  await world.put(PERSONAL_PATH, `name,n\n${SECRET},1\n`);
  await world.consumer().start();
  await world.pass(2_000);
  return world;
}

test.each([["object.key"], ["object"], ["s3.object.key"], ["s3.**"]])(
  "an object's key that %s hides is in no line, no dossier, no attribute of its letter and no report",
  async (path) => {
    await using world = await workOn({
      mask: [path],
      handler: (
        { object }: { object: { key: string } },
        { log }: { log(...a: unknown[]): void },
      ) => {
        log("info", `working on ${object.key}`, { file: object.key });
        throw new PermanentError(`no ${object.key}`, { class: "schema" });
      },
    });
    const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
    expect(dossiers).toHaveLength(1);
    const [letter] = await world.deadLetters.receive(
      { max: 10, waitMs: 0 as never, visibilityMs: 0 as never },
      new AbortController().signal,
    );
    const what = `s3://people/${PERSONAL_KEY}`;
    const lives = await findHistories(world.ledger, { what });
    expect(lives).toHaveLength(1); // Whoever knows the key still finds it.
    const reports = lives.flatMap((life) => describeHistory(life, "what was asked for"));
    const listed = await listIn(world, {}, "peek");
    const { events } = await runRedrive(world, { dryRun: true });
    expect(events).toHaveLength(1);
    const told = JSON.stringify([
      ...[dossiers, world.logs, letter?.attributes, reports, listed],
      ...[events, events.map((event) => eventLine(event))],
    ]);
    expect(world.logs).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ object_key: "***" }) }),
    );
    expect(told).toContain("working on ***");
    expect(told).not.toMatch(/Lovelace|1815/);
    expect(letter?.body).toContain("Lovelace");
  },
);

test("a retry tells of an object by a masked key as well", async () => {
  await using world = await workOn({
    ...{ mask: ["object.key"], attempts: 3 },
    handler: () => {
      throw new Error("not today");
    },
  });
  expect(world.logs).toMatchObject([{ level: "warn", fields: { object_key: "***" } }]);
  expect(JSON.stringify(world.logs)).not.toContain("Lovelace");
});

test("a key that quotes what a path hides in a row is scrubbed of that, and of no more", async () => {
  await using world = await workOn({
    mask: ["name"],
    handler: async (
      event: { rows(): AsyncIterable<unknown> },
      { log }: { log(...a: unknown[]): void },
    ) => {
      for await (const _ of event.rows()) log("info", "a row");
      throw new Error("not today");
    },
  });
  const keys = world.logs.map(({ fields }) => (fields as { object_key: string }).object_key);
  expect(keys).toEqual(["people/***+1815.csv", "people/***+1815.csv"]);
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  expect(JSON.parse(dossiers[0]?.body ?? "").object.key).toBe("people/***+1815.csv");
});
