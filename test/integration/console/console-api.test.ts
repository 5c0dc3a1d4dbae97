// The console's API on a pipeline that runs: every answer matches the OpenAPI file, and is what the
// ledger, the queues and the command line say.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningDev, startDev } from "../../../src/api/run.ts";
import { CONSOLE_ROUTES } from "../../../src/console/api/routes.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { describeHistory } from "../../../src/operate/history/describe-history.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { CONSOLE_PATHS, consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";
import { createRedriveProbe } from "./redrive-probe.ts";

const data = join(useTemporaryFolder("console-api"), "data");
const SECRET = "4000-1234-5678";
const HOSTILE = `"><script>alert(1)</script>\u202e`;
let broken = true;
let dev: RunningDev;
let ledger: Ledger;
let api: ReturnType<typeof consoleClient>;

interface Order {
  readonly id: string;
  readonly card: string;
}

const spec = pipeline({
  name: "orders",
  source: { queue: "orders", key: (order: Order) => order.id },
  mask: ["card"],
  sink: () => undefined,
  handler({ body }, { emit }) {
    if (body.id.startsWith("bad") && broken) {
      throw new PermanentError(`no such card ${body.card} ${HOSTILE}`, { class: "schema" });
    }
    emit({ id: body.id });
  },
});

const order = (id: string) => ({ body: JSON.stringify({ id, card: SECRET }) });
const scope = { pipeline: "orders", generation: 0 };

beforeAll(async () => {
  const settings = { data, port: 0, metricsPort: 0 };
  const console = { allowActions: true };
  dev = await startDev(spec as never, settings, { onLogLine: () => {}, console });
  ledger = await openLedger(`sqlite:${join(data, "ledger.db")}`, systemPorts, { readOnly: true });
  api = consoleClient(dev.endpoint);
  for (const id of ["good-1", "good-2", "bad-1", `bad-2${HOSTILE}`]) {
    const sent = await api.post("/queues/orders/messages", order(id));
    expect(sent.status).toBe(201);
  }
  await eventually(() => {
    expect(dev.snapshot()).toMatchObject({ committed: 2, deadLettered: 2 });
  });
});

afterAll(async () => {
  await ledger?.close();
  await dev?.stop();
});

test("the OpenAPI file and the routes have the same paths and methods", () => {
  const routes = CONSOLE_ROUTES.map(({ method, path }) => `${method} /${path}`);
  const described = CONSOLE_PATHS.map(([method, path]) => `${method} ${path}`);
  expect([...routes, "POST /login"].toSorted()).toEqual(described.toSorted());
});

test.each([
  "/session",
  "/flow",
  "/flow/history",
  "/queues",
  "/queues/orders",
  "/queues/orders/messages",
  "/topics",
  "/buckets",
  "/records",
  "/records?outcome=dead-lettered&limit=1",
  "/dead-letters",
  "/time",
  "/runs",
  "/setup-check",
  "/jobs",
])("GET %s answers as the OpenAPI file says, and 304 to its own ETag", async (path) => {
  const { status, headers } = await api.call(path);
  expect(status).toBe(200);
  expect(headers["x-content-type-options"]).toBe("nosniff");
  if (path === "/session" || path === "/flow") return; // They contain the time.
  const again = await api.call(path, { headers: { "if-none-match": String(headers.etag) } });
  expect([200, 304]).toContain(again.status);
  if (path === "/topics") expect(again.status).toBe(304);
});

test.each([
  "/queues/none",
  "/queues/none/messages",
  "/buckets/none/objects",
  "/records/k1:none",
  "/records/none",
  "/dead-letters/none/items",
  "/jobs/none",
  "/nothing",
])("GET %s is a 404 with one sentence", async (path) => {
  const { status, body } = await api.call(path);
  expect(status).toBe(404);
  expect(body.error.message).toMatch(/^\S.*[^.]$/);
});

test("bad parameters and bodies are refused with one sentence", async () => {
  for (const path of ["/records?limit=0", "/records?limit=x", "/records?outcome=done"]) {
    expect((await api.call(path)).status).toBe(400);
  }
  for (const given of [
    {},
    { filter: { class: "x" } },
    { filter: {}, perSecond: 0 },
    { filter: 1 },
  ]) {
    expect((await api.post("/dead-letters/redrive", given)).status).toBe(400);
  }
  const headers = { "content-type": "application/json" };
  const text = await api.call("/dead-letters/drop", { method: "POST", body: "{", headers });
  expect(text.status).toBe(400);
  expect((await api.call("/flow", { method: "POST", body: "{}", headers })).status).toBe(405);
});

test("records, groups and counts are those of the ledger", async () => {
  const { body: list } = await api.call("/records");
  const page = await ledger.listRecords(
    scope,
    { by: "event-time", newestFirst: true },
    { after: null, limit: 100 },
  );
  expect(list.records.map(({ key }: { key: string }) => key)).toEqual(
    page.records.map(({ key }) => key),
  );
  const { body: dead } = await api.call("/dead-letters");
  expect(dead).toMatchObject({ total: 2, more: false });
  const notes = await ledger.listNotes(scope, "dossier", { after: null, limit: 100 });
  const counts = dead.groups.map(({ count }: { count: number }) => count);
  expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(notes.length);
  const { body: items } = await api.call(`/dead-letters/${dead.groups[0].id}/items`);
  expect(items.items).toHaveLength(dead.groups[0].count);
  // The flow does not wait for the ledger: a count may come with a later answer.
  await eventually(async () => {
    const { body: flow } = await api.call("/flow");
    const node = (id: string) => flow.nodes.find((each: { id: string }) => each.id === id);
    const { received, committed, deadLettered } = dev.snapshot();
    expect(node("pipeline").metrics).toMatchObject({ total: received });
    expect(node("sink").metrics).toMatchObject({ total: committed });
    expect(node("dead-letters").metrics).toMatchObject({ total: deadLettered, deadLetters: 2 });
    expect(flow.problems[0]).toMatchObject({ node: "dead-letters", view: "dead-letters" });
  });
});

test("the timeline of a record is what tidegate why says", async () => {
  const { body: page } = await api.call(`/records?search=${encodeURIComponent("bad-1")}`);
  expect(page.records).toHaveLength(1);
  const [{ key }] = page.records;
  const { body: record } = await api.call(`/records/${key}`);
  const [history] = await openOperator({ ledger, ...scope }).history.find("bad-1");
  expect(record.text).toEqual(describeHistory(history as never, key));
  expect(record.timeline.map(({ status }: { status: string }) => status)).toEqual(
    history?.entries.map(({ status }) => status),
  );
  const part = await api.call("/records?search=good-");
  expect(part.body).toMatchObject({ complete: true, looked: 4 });
  expect(part.body.records).toHaveLength(2);
});

test("masked values are in no answer, and hostile texts arrive as they are", async () => {
  const { body: dead } = await api.call("/dead-letters");
  const paths = ["/dead-letters", "/records", "/flow", "/queues/orders-dead-letters/messages"];
  paths.push(`/dead-letters/${dead.groups[0].id}/items`);
  for (const { key } of (await api.call("/records")).body.records) paths.push(`/records/${key}`);
  for (const path of paths) {
    const { text, headers } = await api.call(path);
    expect(text, path).not.toContain(SECRET);
    expect(headers["content-type"]).toBe("application/json");
  }
  const peeked = await api.call("/queues/orders-dead-letters/messages");
  expect(peeked.body.messages).toHaveLength(2);
  expect(JSON.parse(peeked.body.messages[0].body).card).toBe("***");
  expect(dead.groups[0].message).toContain(HOSTILE);
});

test("a peek receives nothing", async () => {
  const before = await api.call("/queues/orders-dead-letters/messages?limit=1");
  const after = await api.call(
    `/queues/orders-dead-letters/messages?limit=1&cursor=${before.body.next}`,
  );
  expect(after.body.messages[0].receiveCount).toBe(before.body.messages[0].receiveCount);
  expect(after.body.messages[0].messageId).not.toBe(before.body.messages[0].messageId);
  expect((await api.call("/queues/orders-dead-letters")).body.inFlight).toBe(0);
});

test("an edited copy with the same key is refused; with another it is a new record", async () => {
  const { body: list } = await api.call("/records?search=bad-1");
  const [{ key }] = list.records;
  const same = await api.post("/dead-letters/edit", { key, ...order("bad-1") });
  expect(same.status).toBe(400);
  expect(same.body.error.message).toContain("the key of the dead letter itself");
  const copy = await api.post("/dead-letters/edit", { key, ...order("fixed-1") });
  expect(copy.body).toMatchObject({ queue: "orders", copyOf: key });
  await eventually(async () => {
    const { body } = await api.call(`/records?search=${copy.body.messageId}`);
    expect(body.records[0]).toMatchObject({ outcome: "committed" });
  });
  const { body: original } = await api.call(`/records/${key}`);
  expect(original.edited).toMatchObject({ count: 1, messageId: copy.body.messageId });
  expect(original.summary.outcome).toBe("dead-lettered");
  expect((await api.post("/dead-letters/edit", { key: "k1:x", body: "{}" })).status).toBe(404);
});

test("a drop with the wrong count deletes nothing; a redrive is followed to its end", async () => {
  const wrong = await api.post("/dead-letters/drop", { filter: {}, confirmCount: 1 });
  expect(wrong.status).toBe(409);
  const probe = createRedriveProbe(api);
  const planned = await probe.run("/dead-letters/redrive", { filter: {}, dryRun: true });
  expect(planned).toMatchObject({ state: "done", total: 2, counts: { planned: 2 } });
  expect((await api.call("/dead-letters")).body.total).toBe(2);
  broken = false;
  const filter = { key: "bad-1" };
  const redriven = await probe.run("/dead-letters/redrive", { filter, perSecond: 100 });
  expect(redriven).toMatchObject({ state: "done", total: 1, counts: { sent: 1, committed: 1 } });
  await eventually(async () => {
    expect((await api.call("/dead-letters")).body.total).toBe(1);
  });
  const dropped = await probe.run("/dead-letters/drop", { filter: {}, confirmCount: 1 });
  expect(dropped).toMatchObject({ state: "done", counts: { dropped: 1 } });
  const again = await probe.run("/late/release", { filter: {}, dryRun: true });
  expect(again).toMatchObject({ state: "done", total: 0, counts: {} });
});

test("a release without a selection, or for another number of records, is refused", async () => {
  for (const body of [{}, { dryRun: true }, { filter: {} }]) {
    expect((await api.post("/late/release", body)).status).toBe(400);
  }
  const wrong = await api.post("/late/release", { filter: {}, confirmCount: 7 });
  expect(wrong).toMatchObject({ status: 409, body: { error: { code: "CountDiffers" } } });
});

test("a purge needs the name of its queue", async () => {
  const refused = await api.post("/queues/orders-dead-letters/purge", { confirm: "orders" });
  expect(refused.status).toBe(409);
  const done = await api.post("/queues/orders-dead-letters/purge", {
    confirm: "orders-dead-letters",
  });
  expect(done.body).toEqual({ done: true });
  const none = await api.post("/queues/none/messages", { body: "x" });
  expect(none.status).toBe(409);
});
