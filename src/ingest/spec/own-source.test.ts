import { expect, test } from "vitest";
import { pipeline } from "./define-pipeline.ts";

const key = (body: { id: string }) => body.id;

/** The problems that `pipeline()` reports for a source; none if it accepts it. */
function problemsOf(source: object, rest: object = {}): string[] {
  try {
    pipeline({ name: "p", source: { queue: "q", ...source }, handler() {}, ...rest } as never);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n  - ").slice(1);
  }
}

test("a source with a key gets defaults for everything else", () => {
  const { source } = pipeline({ name: "p", source: { queue: "q", key }, handler() {} });
  expect(source).toEqual({
    bucket: null,
    prefix: "",
    queue: "q",
    contents: "messages",
    own: { schema: null, decode: "json", key, eventTime: null, unwrapSns: true },
  });
});

test("a source without a key reads envelopes and S3 events, as before", () => {
  const made = pipeline({ name: "p", source: { queue: "q" }, handler() {} });
  expect(made.source.own).toBeNull();
});

test.each([
  [{ key: "FileID" }, 'source.key "FileID" must be a function such as (body) => body.id'],
  [{ decode: "text" }, "source.key must be a function"],
  [{ key, decode: "xml" }, 'source.decode must be "json", "text", "base64" or a function'],
  [{ key, eventTime: "at" }, "source.eventTime must be a function of the body"],
  [{ key, unwrapSns: "no" }, "source.unwrapSns must be true or false"],
  [{ key, schema: {} }, "source.schema must be of a Standard Schema library"],
  [{ key, contents: "objects" }, "source.contents must be left out"],
  [{ key: "MessageDeduplicationId" }, "needs a FIFO queue; take the key from the body"],
  [{ key, eventtime: key }, 'unknown field "eventtime" in source; did you mean "eventTime"?'],
])("the source %j is rejected with its fix", (source, problem) => {
  expect(problemsOf(source)).toEqual([expect.stringContaining(problem)]);
});

test("a schema next to a key belongs into the source", () => {
  const schema = { "~standard": { version: 1, vendor: "test", validate: () => ({ value: 1 }) } };
  expect(problemsOf({ key }, { schema })).toEqual([
    expect.stringContaining("schema must be in source"),
  ]);
  expect(problemsOf({ key, schema })).toEqual([]);
});

test("an id of the queue is a key by name", () => {
  expect(problemsOf({ key: "MessageId" })).toEqual([]);
  expect(problemsOf({ queue: "q.fifo", key: "MessageDeduplicationId" })).toEqual([]);
});
