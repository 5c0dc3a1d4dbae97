// Types of `tidegate`. The compiler checks them (`npm run types`); running them checks that the
// pipelines are also valid.

import {
  type EnvelopeEventFacts,
  type JsonObject,
  type MessageInput,
  type ObjectEventFacts,
  type ObjectInput,
  type OwnMessageInput,
  type Pipeline,
  pipeline,
  type RemovedInput,
  tables,
} from "tidegate";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

const bucket = { bucket: "files" } as const;

test("a schema types the rows of objects", () => {
  const made = pipeline({
    name: "p",
    source: bucket,
    schema: z.object({ id: z.string(), amount: z.coerce.number() }),
    async handler(file) {
      expectTypeOf(file).toEqualTypeOf<ObjectInput<{ id: string; amount: number }>>();
      for await (const row of file.rows()) {
        expectTypeOf(row).toEqualTypeOf<{ id: string; amount: number }>();
      }
    },
  });
  expectTypeOf(made).toEqualTypeOf<Pipeline>();
});

test("a schema types the payload of messages", () => {
  pipeline({
    name: "p",
    source: { queue: "q" },
    schema: z.object({ tile: z.string() }),
    handler(event) {
      expectTypeOf(event).toEqualTypeOf<MessageInput<{ tile: string }>>();
    },
  });
});

test("without a schema, CSV rows are strings", () => {
  pipeline({
    name: "p",
    source: bucket,
    format: "csv",
    handler: (file) =>
      void expectTypeOf(file).toEqualTypeOf<ObjectInput<Readonly<Record<string, string>>>>(),
  });
});

test("the context has the time, randomness and frozen values of the record", () => {
  pipeline({
    name: "p",
    source: bucket,
    frozen: {
      seed: "1",
      parameters: { vat: 0.25, zones: ["a"] },
      models: { speech: "v3" },
      lookups: { rates: { eur: 1 } },
    },
    handler(_file, context) {
      expectTypeOf(context.now).toEqualTypeOf<() => number>();
      expectTypeOf(context.random).toEqualTypeOf<() => number>();
      expectTypeOf(context.uuid).toEqualTypeOf<() => string>();
      expectTypeOf(context.parameters).toEqualTypeOf<{ vat: number; zones: string[] }>();
      expectTypeOf(context.models).toEqualTypeOf<{ speech: string }>();
      expectTypeOf(context.lookups).toEqualTypeOf<{ rates: { eur: number } }>();
      // @ts-expect-error: there is no such parameter.
      expectTypeOf(context.parameters.tax).toBeUndefined();
    },
  });
  pipeline({
    name: "p",
    source: { queue: "q", key: (body: { id: string }) => body.id },
    frozen: { parameters: { vat: 0.25 } },
    handler(_event, { parameters }) {
      expectTypeOf(parameters).toEqualTypeOf<{ vat: number }>();
    },
  });
});

test("govern gets the event and the rows as they were read", () => {
  const handler = () => undefined;
  const governed = pipeline({
    name: "p",
    source: bucket,
    format: "csv",
    schema: z.object({ id: z.coerce.number() }),
    govern(event, row) {
      expectTypeOf(event).toEqualTypeOf<ObjectEventFacts>();
      expectTypeOf(row).toEqualTypeOf<Readonly<Record<string, string>> | undefined>();
      return row === undefined ? "allow" : "mask";
    },
    handler,
  });
  expectTypeOf(governed).toEqualTypeOf<Pipeline>();
  pipeline({
    name: "p",
    source: { queue: "q" },
    async govern(event, row) {
      expectTypeOf(event).toEqualTypeOf<EnvelopeEventFacts>();
      expectTypeOf(row).toEqualTypeOf<undefined>();
      return event.envelope.payload.secret === undefined ? "allow" : "refuse";
    },
    handler,
  });
  pipeline({
    name: "p",
    source: { queue: "q", key: (body: { id: string }) => body.id },
    govern(event) {
      expectTypeOf(event).toEqualTypeOf<OwnMessageInput<{ id: string }>>();
      return "allow";
    },
    handler,
  });
  // @ts-expect-error An answer that is none of the three.
  pipeline({ name: "p", source: bucket, govern: () => "deny", handler });
});

test("without a schema, all other rows and payloads are JSON", () => {
  const base = { name: "p", source: bucket } as const;
  const handler = (file: ObjectInput<JsonObject>) => void file;
  pipeline({ ...base, handler });
  pipeline({ ...base, format: "auto", handler });
  pipeline({ ...base, format: "json", handler });
  pipeline({ ...base, format: "jsonl", handler });
  pipeline({ ...base, format: "parquet", handler });
  pipeline({
    ...base,
    handler: (file) => void expectTypeOf(file).toEqualTypeOf<ObjectInput<JsonObject>>(),
  });
  pipeline({
    name: "p",
    source: { queue: "q", contents: "objects" },
    handler: (file) => void expectTypeOf(file).toEqualTypeOf<ObjectInput<JsonObject>>(),
  });
  pipeline({
    name: "p",
    source: { queue: "q" },
    handler: (event) => void expectTypeOf(event).toEqualTypeOf<MessageInput<JsonObject>>(),
  });
});

test("tables() types the rows that a handler upserts and deletes", () => {
  const sink = tables({
    line: { columns: { id: "text", n: "integer", paid: "boolean" }, key: ["id"] },
  });
  pipeline({
    name: "p",
    source: bucket,
    sink,
    handler(_file, { upsert, delete: remove }) {
      upsert("line", { id: "1", n: 1, paid: true });
      upsert("line", { id: "1", n: null });
      remove("line", { id: "1" });
      // @ts-expect-error A column has one type.
      upsert("line", { id: 1 });
      // @ts-expect-error Key columns are required.
      upsert("line", { n: 1 });
      // @ts-expect-error Key columns are not null.
      upsert("line", { id: null });
      // @ts-expect-error Unknown columns are an error.
      upsert("line", { id: "1", m: 1 });
      // @ts-expect-error Unknown tables are an error.
      upsert("lines", { id: "1" });
      // @ts-expect-error A key has all key columns and no others.
      remove("line", { n: 1 });
    },
  });
});

test("a handler sees removals only with onRemoved: handle, and cannot read them", () => {
  pipeline({
    name: "p",
    source: bucket,
    onRemoved: "handle",
    handler(file) {
      expectTypeOf(file).toEqualTypeOf<ObjectInput<JsonObject> | RemovedInput>();
      if (file.kind !== "removed") return;
      expectTypeOf(file).toEqualTypeOf<RemovedInput>();
      // @ts-expect-error A removed object has no rows.
      void file.rows;
    },
  });
  pipeline({
    name: "p",
    source: bucket,
    onRemoved: "ignore",
    handler: (file) => void expectTypeOf(file.kind).extract<"removed">().toBeNever(),
  });
});

test("misspelt options are errors", () => {
  const handler = () => {};
  // @ts-expect-error It is `retry`.
  void (() => pipeline({ name: "p", source: bucket, retries: 3, handler }));
  // @ts-expect-error It is `attempts`.
  void (() => pipeline({ name: "p", source: bucket, retry: { max: 3 }, handler }));
  // @ts-expect-error There is no such format.
  void (() => pipeline({ name: "p", source: bucket, format: "xml", handler }));
  // @ts-expect-error A source is a bucket or a queue.
  void (() => pipeline({ name: "p", source: {}, handler }));
});

test("concurrency.key gets the same event as the handler", () => {
  pipeline({
    name: "p",
    source: bucket,
    concurrency: {
      key(file) {
        expectTypeOf(file).toEqualTypeOf<ObjectInput<JsonObject>>();
        return file.object.key;
      },
    },
    handler: () => {},
  });
});

test("eventTime.of and eventTime.partition get the facts of their source", () => {
  pipeline({
    name: "p",
    source: bucket,
    eventTime: {
      of: async (event) => {
        expectTypeOf(event).toEqualTypeOf<ObjectEventFacts>();
        return (await event.metadata()).day ?? (await event.tags()).day;
      },
      partition: ({ object }) => object.key,
    },
    handler: () => undefined,
  });
  pipeline({
    name: "p",
    source: { queue: "q" },
    eventTime: {
      of: (event) => {
        expectTypeOf(event).toEqualTypeOf<EnvelopeEventFacts>();
        return event.envelope.event_time;
      },
      partition: ({ message }) => message.group,
      late: { queue: "slow" },
    },
    handler: () => undefined,
  });
  pipeline({
    name: "p",
    source: { queue: "q", schema: z.object({ id: z.string() }), key: (body) => body.id },
    eventTime: {
      partition: (event) => {
        expectTypeOf(event).toEqualTypeOf<OwnMessageInput<{ id: string }>>();
        return event.body.id;
      },
      late: "hold",
    },
    handler: () => undefined,
  });
});
