// Masking of values in unusual positions: claim checks, concurrency keys, rows and object keys.

import { expect, test } from "vitest";
import { eventLine } from "../../../src/cli/print/dead-letter-text.ts";
import { writeClaimCheck } from "../../../src/core/events/claim-check.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { describeHistory } from "../../../src/operate/history/describe-history.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { createConsumerWorld } from "../../support/consumer-world.ts";
import { listIn, runRedrive } from "../../support/dead-letter-world.ts";

const SECRET = "Ada Lovelace";
const mask = ["payload.name"];

function quote(payload: unknown): never {
  throw new Error(`who is ${(payload as { name: string }).name}?`);
}

test("a payload in a bucket is masked like a payload in the message", async () => {
  await using world = await createConsumerWorld({
    bucket: "payloads",
    handler({ payload }, { log }) {
      log("info", `working on ${payload.name}`);
      quote(payload);
    },
    pipeline: { source: { queue: "work" }, mask, retry: { attempts: 1 } } as never,
  });
  const location = { bucket: "payloads", prefix: "", eventKey: "k" };
  const { check, payload, bytes } = writeClaimCheck(location, { name: SECRET });
  await world.put(check.key, bytes);
  await world.send("k", payload);
  const consumer = world.consumer();
  await consumer.start();
  await world.pass(2_000);
  const scope = { pipeline: "test", generation: 0 };
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  const output = JSON.stringify([dossiers, world.logs]);
  expect(output).toContain("who is ***?");
  expect(output).toContain("working on ***");
  expect(output).not.toContain(SECRET);
});

test("the error of a concurrency key is masked in the log", async () => {
  const key = ({ payload }: { payload: unknown }) => quote(payload);
  await using world = await createConsumerWorld({
    pipeline: { concurrency: { key }, mask } as never,
  });
  await world.send("k", { name: SECRET });
  await world.consumer().start();
  await world.pass(2_000);
  const output = JSON.stringify(world.logs);
  expect(output).toContain("who is ***?");
  expect(output).not.toContain(SECRET);
});

test.each([
  ["an error of a handler that quotes a row", "handler"],
  ["an error of a sink that quotes its input", "sink"],
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
      mode: "idempotent",
      prepare: async () => {},
      close: async () => {},
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
  const output = JSON.stringify([dossiers, world.logs]);
  expect(output).toContain("who are ***,***?");
  expect(output).not.toMatch(/Lovelace|Hopper/);
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
  "an object's key masked by %s is in no log line, dossier, dead-letter attribute or report",
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
    const [deadLetter] = await world.deadLetters.receive(
      { max: 10, waitMs: 0 as never, visibilityMs: 0 as never },
      new AbortController().signal,
    );
    const what = `s3://people/${PERSONAL_KEY}`;
    const lives = await openOperator({ ledger: world.ledger }).history.find(what);
    expect(lives).toHaveLength(1); // A lookup by the full key still finds it.
    const reports = lives.flatMap((life) => describeHistory(life, "what was asked for"));
    const listed = await listIn(world, {}, "peek");
    const { events } = await runRedrive(world, { dryRun: true });
    expect(events).toHaveLength(1);
    const output = JSON.stringify([
      ...[dossiers, world.logs, deadLetter?.attributes, reports, listed],
      ...[events, events.map((event) => eventLine(event))],
    ]);
    expect(world.logs).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ object_key: "***" }) }),
    );
    expect(output).toContain("working on ***");
    expect(output).not.toMatch(/Lovelace|1815/);
    expect(deadLetter?.body).toContain("Lovelace");
  },
);

test("the log line of a retry has a masked object key, too", async () => {
  await using world = await workOn({
    mask: ["object.key"],
    attempts: 3,
    handler: () => {
      throw new Error("not today");
    },
  });
  expect(world.logs).toMatchObject([{ level: "warn", fields: { object_key: "***" } }]);
  expect(JSON.stringify(world.logs)).not.toContain("Lovelace");
});

test("a masked value of a row is removed from the object's key, and nothing else is", async () => {
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

type Log = { log(level: string, message: string, fields?: Record<string, unknown>): void };
type Rows = { rows(): AsyncIterable<Record<string, unknown>> };

/** All that a pipeline writes about a file of JSON Lines: its log and its dossiers. */
async function outputOf(rows: readonly object[], handler: (event: Rows, log: Log) => unknown) {
  await using world = await createConsumerWorld({
    bucket: "people",
    handler: handler as never,
    pipeline: { mask: ["secret"], retry: { attempts: 1 } } as never,
  });
  await world.put("people.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  await world.consumer().start();
  await world.pass(2_000);
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  return JSON.stringify([dossiers, world.logs]);
}

test("a value longer than a stored message or stack is removed before the text is cut", async () => {
  const secret = `start-${"of a long value, ".repeat(1_000)}end`;
  const output = await outputOf([{ secret }], async (event) => {
    for await (const row of event.rows()) {
      throw new Error(`cannot read ${row.secret}`, { cause: new Error(`bad: ${row.secret}`) });
    }
  });
  expect(output).toContain("cannot read ***");
  expect(output).not.toContain("of a long value");
});

test("context.log removes the values of every row that was read, and of all kinds", async () => {
  const rows = [
    { secret: { name: SECRET, list: [4711, "Grace Hopper"] } },
    { secret: 1234567, n: 1 },
    { secret: true, n: 2 },
  ];
  const output = await outputOf(rows, async (event, { log }) => {
    const read: unknown[] = [];
    for await (const row of event.rows()) read.push(row);
    log("info", `first ${SECRET}, ${JSON.stringify(read[0])}`, { no: 4711, [SECRET]: 7 });
    log("info", `then 1,234,567 and 1234567.00, which is true`, { account: 1234567, line: 3 });
  });
  expect(output).toContain("first ***, ");
  expect(output).toContain("then *** and ***.00, which is true");
  expect(output).toContain('"line":3');
  expect(output).not.toMatch(/Lovelace|Hopper|4711|1234567|1,234,567/);
});

test("with too many masked values to search for, a text is hidden as a whole", async () => {
  const rows = Array.from({ length: 20_001 }, (_, at) => ({ secret: `person-${at}` }));
  const output = await outputOf(rows, async (event, { log }) => {
    let first = "";
    for await (const row of event.rows()) first ||= String(row.secret);
    log("info", `the first is ${first}`);
    throw new PermanentError(`what is ${first}?`, { class: first });
  });
  expect(output).toContain("hidden: the record has too many masked values");
  expect(output).toContain("people.jsonl");
  expect(output).not.toContain("person-");
});

test.each([
  ["not JSON", `{"name":"${SECRET}"`, "the body is not valid JSON"],
  ["JSON of another form", `{"name":"${SECRET}"}`, "the pipeline does not know the form"],
])("a body that is %s is hidden as a whole", async (_title, body, sentence) => {
  await using world = await createConsumerWorld({ pipeline: { mask } as never });
  await world.sendBody(body);
  await world.consumer().start();
  await world.pass(2_000);
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  const listed = await listIn(world, {}, "peek");
  const lives = await openOperator({ ledger: world.ledger }).history.find(listed[0]?.key ?? "");
  const reports = lives.flatMap((life) => describeHistory(life, "what was asked for"));
  const output = JSON.stringify([dossiers, listed, reports, world.logs]);
  expect(output).toContain(`hidden: ${sentence}`);
  expect(output).not.toContain(SECRET);
});

test.each<[what: string, source: object]>([
  [
    "a body that the pipeline's own function decodes",
    { key: () => "7", decode: (text: string) => ({ name: text.split("=")[1] }) },
  ],
  ["a body on which source.decode fails", { key: () => "7", decode: JSON.parse }],
  ["a text on which source.key fails", { key: JSON.parse, decode: "text" }],
])("%s is hidden as a whole, with what the function says", async (_what, source) => {
  await using world = await createConsumerWorld({
    handler: (({ body }: { body: { name: string } }) => {
      throw new PermanentError(`who is ${body.name}?`);
    }) as never,
    pipeline: { source: { queue: "work", ...source }, mask: ["name"] } as never,
  });
  await world.sendBody(`name=${SECRET}`);
  await world.consumer().start();
  await world.pass(2_000);
  const dossiers = await world.ledger.listNotes(scope, "dossier", { after: null, limit: 10 });
  expect(dossiers).toHaveLength(1);
  const output = JSON.stringify([dossiers, world.logs]);
  expect(output).toContain("hidden: the body is not valid JSON");
  expect(output).not.toMatch(/Lovelace|name=/);
});
