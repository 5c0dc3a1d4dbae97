// Types of messages in the user's own format. The compiler checks them (`npm run types`); running
// them checks that the pipelines are also valid.

import { type JsonValue, type OwnMessageInput, type Pipeline, pipeline, tables } from "tidegate";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

const Job = z.object({ FileID: z.string(), Entity: z.string(), BatchID: z.coerce.string() });

test("a schema types the body, the key function and the event time", () => {
  const made = pipeline({
    name: "p",
    source: {
      queue: "q",
      schema: Job,
      key(body) {
        expectTypeOf(body.FileID).toEqualTypeOf<string>();
        return body.FileID;
      },
      eventTime(body) {
        expectTypeOf(body.Entity).toEqualTypeOf<string>();
        return "2026-01-01T00:00:00Z";
      },
    },
    handler(event) {
      expectTypeOf(event).toEqualTypeOf<OwnMessageInput<z.infer<typeof Job>>>();
      expectTypeOf(event.body.BatchID).toEqualTypeOf<string>();
    },
  });
  expectTypeOf(made).toEqualTypeOf<Pipeline>();
});

test("without a schema, the type of the key function's argument is the body's", () => {
  pipeline({
    name: "p",
    source: { queue: "q.fifo", key: (body: { FileID: string }) => body.FileID },
    handler: (event) => void expectTypeOf(event.body).toEqualTypeOf<{ FileID: string }>(),
  });
});

test("without a schema and without a type, the body is what the decoder returns", () => {
  pipeline({
    name: "p",
    source: { queue: "q", key: "MessageId" },
    handler: (event) => void expectTypeOf(event.body).toEqualTypeOf<JsonValue>(),
  });
  pipeline({
    name: "p",
    source: { queue: "q", decode: "text", key: (body) => body.slice(0, 8) },
    handler: (event) => void expectTypeOf(event.body).toEqualTypeOf<string>(),
  });
  pipeline({
    name: "p",
    source: { queue: "q", decode: "base64", key: (body) => body.byteLength },
    handler: (event) => void expectTypeOf(event.body).toEqualTypeOf<Uint8Array>(),
  });
  pipeline({
    name: "p",
    source: { queue: "q", decode: (text) => new URL(text), key: (url) => url.pathname },
    handler: (event) => void expectTypeOf(event.body).toEqualTypeOf<URL>(),
  });
});

test("the handler sees the message next to its body", () => {
  pipeline({
    name: "p",
    source: { queue: "q.fifo", key: "MessageDeduplicationId" },
    handler({ attributes, group, sentAt, receiveCount, messageId, key }) {
      expectTypeOf(attributes).toEqualTypeOf<Readonly<Record<string, string>>>();
      expectTypeOf(group).toEqualTypeOf<string | null>();
      expectTypeOf(sentAt).toExtend<number>();
      expectTypeOf(receiveCount).toEqualTypeOf<number>();
      expectTypeOf(messageId).toEqualTypeOf<string>();
      expectTypeOf(key).toEqualTypeOf<string>();
    },
  });
});

test("tables() types the rows of own messages", () => {
  pipeline({
    name: "p",
    source: { queue: "q", schema: Job, key: (body) => body.FileID },
    sink: tables({ job: { columns: { id: "text", entity: "text" }, key: ["id"] } }),
    handler({ body }, { upsert }) {
      upsert("job", { id: body.FileID, entity: body.Entity });
      // @ts-expect-error A column has one type.
      upsert("job", { id: 1 });
    },
  });
});

test("mistakes in an own source are errors", () => {
  const handler = () => {};
  const key = (body: { id: string }) => body.id;
  // @ts-expect-error A schema next to a key belongs into the source.
  void (() => pipeline({ name: "p", source: { queue: "q", key }, schema: Job, handler }));
  // @ts-expect-error A key is a string or a number.
  void (() => pipeline({ name: "p", source: { queue: "q", key: () => ({}) }, handler }));
  // @ts-expect-error A field of the body is named by a function.
  void (() => pipeline({ name: "p", source: { queue: "q", key: "FileID" }, handler }));
  // @ts-expect-error There is no such decoder.
  void (() => pipeline({ name: "p", source: { queue: "q", key, decode: "xml" }, handler }));
  // @ts-expect-error A source with a decoder needs a key.
  void (() => pipeline({ name: "p", source: { queue: "q", decode: "text" }, handler }));
});
