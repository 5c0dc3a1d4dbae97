// Bad messages in the user's own format, and key functions, schemas and decoders that misbehave.
// Titles are rows of docs/reference/bad-input.md.

import { afterAll, beforeAll, expect, test } from "vitest";
import { depths, dossiers, run } from "../../support/consumer-looks.ts";
import { type ConsumerWorld, createConsumerWorld } from "../../support/consumer-world.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => {
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const MIB = 1_048_576;
const KEY = (body: { id: string }) => body.id;
const BODY = '{"id":"a","n":1}';

/** A world whose pipeline reads own messages; `handled` counts the calls of its handler. */
async function ownWorld(
  source: object,
  options: object = {},
): Promise<ConsumerWorld & { readonly handled: unknown[] }> {
  const handled: unknown[] = [];
  const world = await createConsumerWorld({
    handler: (event) => void handled.push(event),
    pipeline: { source: { queue: "work", key: KEY, ...source }, ...options } as never,
  });
  return Object.assign(world, { handled });
}

/** Sends bodies to a pipeline and returns the reasons of its dead letters. */
async function reasonsOf(source: object, bodies: readonly string[] = [BODY]) {
  await using world = await ownWorld(source);
  for (const body of bodies) await world.sendBody(body);
  const consumer = await run(world);
  const counts = { deadLettered: bodies.length, retried: 0, inFlight: 0, committed: 0 };
  expect(consumer.snapshot()).toMatchObject(counts);
  expect(await depths(world)).toEqual([0, bodies.length]);
  expect(world.handled).toEqual([]);
  const reports = await dossiers(world);
  const logged = world.logs.filter(({ level }) => level === "error");
  expect(logged.map(({ message }) => message).toSorted()).toEqual(
    reports.map(({ message }) => `dead-lettered: ${message}`).toSorted(),
  );
  return reports.map(({ error_class, message }) => `${error_class}: ${message}`);
}

test("a key function that throws: dead-lettered immediately as keyless, with its error", async () => {
  const [reason] = await reasonsOf({ key: (body: { a: { b: string } }) => body.a.b });
  expect(reason).toMatch(
    /^keyless: PermanentError: the message has no key: source.key threw: TypeError: /,
  );
});

test("a key that is undefined, empty, an object or a promise: dead-lettered immediately as keyless", async () => {
  const keys: [unknown, string][] = [
    [undefined, "undefined"],
    [null, "null"],
    ["", "an empty text"],
    [" \n", "an empty text"],
    [{ id: 1 }, "an object"],
    [["a"], "an array"],
    [true, "a boolean"],
    [0.5, "0.5, which is not a whole number within ±(2^53 - 1)"],
    [Number.NaN, "NaN, which is not a whole number within ±(2^53 - 1)"],
    ["\ud800", "a text with a lone surrogate"],
  ];
  for (const [value, name] of keys) {
    const [reason] = await reasonsOf({ key: () => value });
    expect(reason).toBe(
      `keyless: PermanentError: the message has no key: source.key returned ${name}`,
    );
  }
  const [reason] = await reasonsOf({ key: () => Promise.reject(new Error("late")) });
  expect(reason).toContain("source.key returned a promise");
});

test("a key of 10 KB: dead-lettered immediately as keyless, with the limit", async () => {
  const [reason] = await reasonsOf({ key: () => "k".repeat(10_240) });
  expect(reason).toContain("source.key returned a text of 10240 bytes; at most 1024 are allowed");
});

test("messages without a key: each is a record of its own, found by its dossier", async () => {
  await using world = await ownWorld({ key: () => undefined });
  for (const n of [1, 2, 2]) await world.sendBody(JSON.stringify({ n }));
  await run(world, 120_000);
  expect(await depths(world)).toEqual([0, 2]);
  const keys = (await dossiers(world)).map(({ record_key }) => record_key);
  expect(new Set(keys).size).toBe(2);
});

test("a body of 1 MiB of opening brackets: dead-lettered immediately as undecodable", async () => {
  const body = "[".repeat(MIB);
  const [reason] = await reasonsOf({}, [body]);
  expect(reason).toMatch(/^undecodable: .* is not valid JSON: nested deeper than \d+$/);
});

test("a body that is not what the decoder reads: dead-lettered immediately as undecodable", async () => {
  expect(await reasonsOf({}, ["no json", '{"id":"a","id":"b"}'])).toHaveLength(2);
  expect(await reasonsOf({ decode: "base64" }, ["not base64!", "QQ"])).toEqual([
    "undecodable: PermanentError: the body is not base64",
    "undecodable: PermanentError: the body is not base64",
  ]);
  const throwing = () => {
    throw new Error("bad magic");
  };
  expect(await reasonsOf({ decode: throwing })).toEqual([
    "undecodable: PermanentError: source.decode threw: bad magic",
  ]);
  expect(await reasonsOf({ decode: async () => throwing() })).toEqual([
    "undecodable: PermanentError: source.decode returned a promise; it must not",
  ]);
});

test("a binary body that is read as text: handled as the base64 text that was sent", async () => {
  const body = Buffer.from([0, 255, 254]).toString("base64");
  await using world = await ownWorld({ decode: "text", key: (text: string) => text });
  await world.sendBody(body);
  await run(world);
  expect(world.handled).toMatchObject([{ body }]);
});

test("an event time that is not one: dead-lettered immediately as undecodable, under its key", async () => {
  for (const value of ["yesterday", Number.NaN, new Date("x"), undefined, 1e20]) {
    const [reason] = await reasonsOf({ eventTime: () => value });
    expect(reason).toMatch(/^undecodable: PermanentError: source.eventTime returned /);
  }
});

test("a schema that throws: retried, then dead-lettered", async () => {
  const validate = () => {
    throw new Error("out of order");
  };
  await using world = await ownWorld(schemaOf(validate), { retry: { attempts: 3, baseMs: 10 } });
  await world.sendBody(BODY);
  const consumer = await run(world, 60_000);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 2 });
  expect(await dossiers(world)).toMatchObject([{ attempts: 3, message: "out of order" }]);
});

test("a schema that is asynchronous: awaited, and its issues are final", async () => {
  const validate = async (value: unknown) =>
    (value as { n: number }).n === 1 ? { value } : { issues: [{ message: "n is wrong" }] };
  await using world = await ownWorld(schemaOf(validate));
  await world.sendBody(BODY);
  await world.sendBody('{"id":"b","n":2}');
  await run(world);
  expect(world.handled).toMatchObject([{ body: { id: "a", n: 1 } }]);
  expect(await dossiers(world)).toMatchObject([
    { error_class: "schema", business_key: "b", attempts: 1 },
  ]);
});

test("a schema that never returns: aborted at its deadline, retried, then dead-lettered", async () => {
  const validate = () => new Promise(() => undefined);
  const options = { timeoutMs: 1_000, retry: { attempts: 2, baseMs: 10 } };
  await using world = await ownWorld(schemaOf(validate), options);
  await world.sendBody(BODY);
  const consumer = await run(world, 60_000);
  expect(consumer.snapshot()).toMatchObject({ deadLettered: 1, retried: 1, inFlight: 0 });
  expect(await dossiers(world)).toMatchObject([{ error_class: "timeout", attempts: 2 }]);
});

function schemaOf(validate: (value: unknown) => unknown) {
  return { schema: { "~standard": { version: 1, vendor: "test", validate } } };
}
