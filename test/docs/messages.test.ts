// The pages on messages and handlers: every example decodes, and every field is listed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import downloads from "../../examples/own-messages.ts";
import { startTestPipeline } from "../../src/api/testkit.ts";
import { KEY_ORIGINS } from "../../src/core/events/own-message.ts";
import { epochMs } from "../../src/core/units.ts";
import { pipeline } from "../../src/index.ts";
import { decodeDelivery } from "../../src/ingest/stages/decode.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const shapes = read("docs/reference/messages.md");
const handlerPage = read("docs/reference/handler.md");
const guide = read("docs/guides/own-messages.md");

/** Heading and example of each section. */
const EXAMPLES = [...shapes.matchAll(/^## (.+)\n[^#]*?```json\n([\s\S]*?)```/gm)].map(
  ([, title = "", body = ""]) => ({ title, body }),
);

const handler = () => {};
const READERS = {
  object: pipeline({ name: "p", source: { bucket: "shop" }, handler }),
  envelope: pipeline({ name: "p", source: { queue: "q" }, handler }),
  "own message": pipeline({
    name: "p",
    source: { queue: "q", key: (body: { FileID: string }) => body.FileID },
    handler,
  }),
};

function decode(reader: keyof typeof READERS, body: string) {
  return decodeDelivery(READERS[reader], {
    messageId: "m",
    receipt: "r",
    body,
    attributes: {},
    traceHeader: null,
    groupId: null,
    sentAt: epochMs(0),
    receiveCount: 1,
    movedFrom: null,
  });
}

test("every shape of the table has one example", () => {
  const titles = rowsOf(shapes, "shape").map(([cell = ""]) => /\[(.+?)\]/.exec(cell)?.[1]);
  expect(EXAMPLES.map(({ title }) => title)).toEqual(titles);
});

test.each(EXAMPLES)("the example of $title is read as the table says", ({ title, body }) => {
  const row = rowsOf(shapes, "shape").find(([cell = ""]) => cell.startsWith(`[${title}]`));
  const event = /\[(.+?)\]/.exec(row?.[2] ?? "")?.[1];
  if (event === undefined) {
    expect(decode("envelope", body)).toMatchObject({ records: [], ignored: ["test-event"] });
    return;
  }
  const { records } = decode(event as keyof typeof READERS, body);
  const kind = { object: "object", envelope: "message", "own message": "own" }[event];
  expect(records).toMatchObject([{ content: { kind } }]);
});

test("all S3 shapes of the page are the same record", () => {
  const s3 = EXAMPLES.filter(({ body }) => body.includes("0055AED6DCD90281E5"));
  const keys = s3.map(({ body }) => decode("object", body).records[0]?.key);
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(1);
});

/** The members of an exported interface. */
function membersOf(file: string, name: string): string[] {
  const body = new RegExp(`^export interface ${name}\\b.*?^}`, "ms").exec(read(file))?.[0] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?:\?|<[^(]*>)?[:(]/gm)].map(
    ([, member = ""]) => `\`${member}\``,
  );
}

const SPEC = "src/ingest/spec/pipeline-spec.ts";
const OWN = "src/ingest/spec/own-source.ts";

test.each([
  ["object event field", SPEC, "ObjectInput"],
  ["envelope field", SPEC, "MessageInput"],
  ["own message field", OWN, "OwnMessageInput"],
  ["context field", SPEC, "HandlerContext"],
])("the handler page lists every %s, in order", (heading, file, name) => {
  const cells = rowsOf(handlerPage, heading).map(([cell]) => cell);
  expect(cells.length).toBeGreaterThan(1);
  expect(cells).toEqual(membersOf(file, name));
});

test("the guide shows examples/own-messages.ts, and it processes the message once", async () => {
  expect(guide).toContain(`\`\`\`ts\n${read("examples/own-messages.ts")}\`\`\``);
  const [, body = ""] = /```json\n(.*?)\n```/s.exec(guide) ?? [];
  await using t = await startTestPipeline(downloads);
  await t.send({ body, dedupId: "first" });
  await t.send({ body, dedupId: "second" });
  await t.idle();
  expect(t.rows("job")).toEqual([{ id: "accounts-2026-02-28", entity: "accounts" }]);
  expect(t.snapshot()).toMatchObject({ committed: 1, duplicates: 1 });
});

test("the guide lists every decoder and every origin of a key", () => {
  const decoders = rowsOf(guide, "`decode`").map(([cell]) => cell);
  expect(decoders).toEqual(['`"json"`', '`"text"`', '`"base64"`', "`(text) => value`"]);
  const origins = rowsOf(guide, "`key`").map(([cell = ""]) => cell.replaceAll(/[`"]/g, ""));
  expect(origins).toEqual(["a function of the body", ...KEY_ORIGINS.slice(1)]);
});

test("the schema of the guide types the body and coerces it", async () => {
  const Job = z.object({ FileID: z.string(), Entity: z.string(), BatchID: z.coerce.number() });
  expect(guide).toContain(
    "const Job = z.object({ FileID: z.string(), Entity: z.string(), BatchID: z.coerce.number() });",
  );
  const typed = pipeline({
    name: "typed",
    source: { queue: "data-download-queue.fifo", schema: Job, key: (job) => job.FileID },
    sink() {},
    handler: ({ body }, { emit }) => emit(body.BatchID + 1),
  });
  await using t = await startTestPipeline(typed);
  await t.send({ body: { FileID: "a", Entity: "b", BatchID: "7" } });
  await t.idle();
  expect(t.effects()).toEqual([8]);
});
