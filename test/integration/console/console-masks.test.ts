// Masks of the console, on a ledger and queues that a pipeline wrote without masks: no answer of
// any path of the OpenAPI file contains a masked value.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDev } from "../../../src/api/run.ts";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { mountConsole } from "../../../src/console/mount-console.ts";
import { startConsole } from "../../../src/console/start-console.ts";
import { minutes } from "../../../src/core/units.ts";
import { pipeline, tables } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import { CONSOLE_PATHS, consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleOf } from "../../support/full-size.ts";
import { audit, openReplays } from "../../support/operated.ts";
import { now } from "../../support/replay-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";
import { createRedriveProbe } from "./redrive-probe.ts";

const data = join(useTemporaryFolder("console-masks"), "data");
const ledger = `sqlite:${join(data, "ledger.db")}`;
const SECRET = "Lovelace-4000-1234";
const MASKS = ["person.card", "object.key", "name"];
const retry = { attempts: 2, baseMs: minutes(30), capMs: minutes(30) };
const options = { onLogLine: () => {}, onError: () => {} };
const settings = { data, port: 0, metricsPort: 0 };

interface Order {
  readonly id: string;
  readonly person: { readonly card: string };
}

const orders = pipeline({
  name: "orders",
  source: { queue: "orders", key: (order: Order) => order.id },
  retry,
  handler({ body }) {
    const text = `no such card ${body.person.card}`;
    if (body.id.startsWith("bad")) throw new PermanentError(text, { class: "schema" });
    if (body.id.startsWith("waits")) throw new Error(text);
  },
});

const people = (factor: number) =>
  pipeline({
    name: "people",
    source: { bucket: "people", prefix: "in/" },
    format: "csv",
    eventTime: { of: ({ object }) => `${object.key.split("/")[1]}T00:00:00Z`, late: "hold" },
    retry,
    sink: tables({ people: { columns: { name: "text", n: "integer" }, key: ["name"] } }),
    async handler(file, { upsert }) {
      for await (const { name = "", n } of file.rows()) {
        if (n === "0") throw new PermanentError(`who is ${name} in ${file.object.key}?`);
        upsert("people", { name, n: Number(n) * factor });
      }
    },
  });

type Api = ReturnType<typeof consoleClient>;
let cloud: Cloud;
const consoles: { readonly title: string; readonly api: Api; close(): Promise<void> }[] = [];

/** Messages that wait, failed and were processed, and the same with objects. */
beforeAll(async () => {
  const first = await startDev(orders as never, settings, {
    ...options,
    console: { allowActions: true },
  });
  const api = consoleClient(first.endpoint);
  for (const id of ["good-1", "bad-1", "waits-1"]) {
    const body = JSON.stringify({ id, person: { card: SECRET }, note: `paid with ${SECRET}` });
    await api.post("/queues/orders/messages", { body, attributes: { note: `of ${SECRET}` } });
  }
  await eventually(() => {
    expect(first.snapshot()).toMatchObject({ committed: 1, deadLettered: 1, retried: 1 });
  });
  await first.stop();
  const second = await startDev(people(1), settings, options);
  const put = (day: string, n: number) =>
    second.put(`in/${day}/${SECRET} ${n}.csv`, `name,n\n${SECRET},${n}\n`);
  await put("2026-03-10", 7);
  await eventually(() => expect(second.snapshot().committed).toBe(1));
  await put("2026-03-11", 0);
  await eventually(() => expect(second.snapshot().deadLettered).toBe(1));
  await eventually(() => expect(second.snapshot().watermark).not.toBeNull());
  await put("2026-02-01", 3);
  await eventually(() => expect(second.snapshot().held).toBe(1));
  const where = { ledger, endpoint: second.endpoint };
  await using replays = await openReplays(people(2), where);
  const all = { from: 0, to: now(), bucket: "people", prefix: `in/2026-03-10/${SECRET}` };
  await replays.start({ ...all, into: "shadow" } as never);
  await audit(people(1), where, { graceMs: 0 });
  await second.stop();
  await openConsoles();
});

async function openConsoles() {
  cloud = await startCloud({ data, port: 0, onError: options.onError });
  const { endpoint } = cloud;
  const common = { mask: MASKS, allowActions: true, ledger, onError: options.onError };
  const mounted = await mountConsole(cloud.inside, { ...common, endpoint, region: undefined });
  const close = () => mounted.close();
  consoles.push({ title: "tidegate up", api: consoleClient(endpoint), close });
  for (const of of [null, orders, people(1)]) {
    const server = await startConsole({
      ...common,
      endpoint,
      region: "us-east-1",
      queue: of?.name === "people" ? "people-events" : "orders",
      pipeline: of as never,
      port: 0,
      host: "127.0.0.1",
    });
    const title = `tidegate console, ${of?.name ?? "no file"}`;
    consoles.push({ title, api: consoleClient(server.origin), close: () => server.close() });
  }
}

afterAll(async () => {
  for (const console of consoles) await console.close();
  await cloud?.close();
});

/** The values of the names in path patterns, read from the API itself. */
async function namesFrom(api: Api, scope: string) {
  const list = async (path: string, field: string, name: string) =>
    ((await api.call(`${path}?${scope}`)).body?.[field] ?? []).map(
      (each: Record<string, string>) => each[name],
    ) as string[];
  return {
    queue: ["orders", "orders-dead-letters", "people-events", "people-dead-letters"],
    bucket: ["people"],
    key: await list("/records", "records", "key"),
    group: await list("/dead-letters", "groups", "id"),
    run: await list("/replays", "replays", "run"),
    audit: await list("/audits", "audits", "id"),
    job: await list("/jobs", "jobs", "id"),
  } as Record<string, readonly string[]>;
}

function fill(pattern: string, names: Record<string, readonly string[]>): string[] {
  const [, name] = /\{(\w+)\}/.exec(pattern) ?? [];
  if (name === undefined) return [pattern];
  return (names[name] ?? []).map((value) =>
    pattern.replace(`{${name}}`, encodeURIComponent(value)),
  );
}

/** An order for each path with actions; none deletes what a later path has to show. */
function orderFor(pattern: string, dead: string | undefined, path: string): object {
  if (pattern === "/queues/{queue}/messages") return { body: "{}", delaySeconds: 900 };
  if (pattern === "/dead-letters/edit")
    return { key: dead, body: `{"id":"bad-1","x":"${SECRET}"}` };
  if (pattern === "/pipeline/pause") return { reason: "a test" };
  if (pattern.startsWith("/dead-letters/")) return { filter: {}, dryRun: true };
  if (pattern === "/late/release") return { filter: {}, dryRun: true };
  if (/\/(purge|promote|drop)$/.test(pattern)) return { confirm: `not ${path}` };
  return {};
}

/** Every answer of a console, by method and path. */
async function walk(api: Api, scope: string) {
  const answers = new Map<string, string>();
  const [dead] = (await api.call(`/records?${scope}&outcome=dead-lettered`)).body.records;
  const before = await namesFrom(api, scope);
  for (const [method, pattern] of CONSOLE_PATHS) {
    if (method !== "POST") continue;
    for (const path of fill(pattern, before)) {
      const reply = await api.post(`${path}?${scope}`, orderFor(pattern, dead?.key, path));
      answers.set(`POST ${path}`, reply.text);
    }
  }
  const names = await namesFrom(api, scope); // The jobs are new.
  for (const [method, pattern] of CONSOLE_PATHS) {
    if (method !== "GET") continue;
    const queries = ["", "&prefix=in/&search=", "&prefix=in/2026-03-10/&search=bad"];
    for (const path of fill(pattern, names)) {
      for (const query of /\/(objects|records)$/.test(pattern) ? queries : [""]) {
        answers.set(`GET ${path}${query}`, (await api.call(`${path}?${scope}${query}`)).text);
      }
    }
  }
  return answers;
}

test.each(sampleOf(3, [0, 1, 2, 3]))(
  "masks hold in every answer of every path of console %i",
  async (at) => {
    const { api, title } = consoles[at] as (typeof consoles)[0];
    for (const scope of ["pipeline=orders&generation=0", "pipeline=people&generation=0"]) {
      const answers = await walk(api, scope);
      const leaks = [...answers].filter(([, text]) => text.includes("Lovelace"));
      expect(
        leaks.map(([path]) => path),
        `${title}, ${scope}`,
      ).toEqual([]);
      const patterns = CONSOLE_PATHS.filter(([method]) => method === "GET");
      expect(answers.size).toBeGreaterThanOrEqual(patterns.length);
      const shown = [...answers.values()].join("\n");
      expect(shown).toContain("***");
    }
  },
);

test("what is not masked is shown: ids, classes, fingerprints, and keys of records", async () => {
  const { api } = consoles[0] as (typeof consoles)[0];
  const { body: dead } = await api.call("/dead-letters?pipeline=orders&generation=0");
  expect(dead.groups[0]).toMatchObject({
    errorClass: "schema",
    message: "PermanentError: no such card ***",
    sample: { businessKey: "bad-1", payload: { id: "bad-1", person: { card: "***" } } },
  });
  const { body: page } = await api.call("/records?pipeline=orders&generation=0&outcome=retrying");
  expect(page.records[0]).toMatchObject({ name: "waits-1", failure: { message: "***" } });
  const { body: record } = await api.call(
    `/records/${dead.groups[0].sample.key}?pipeline=orders&generation=0`,
  );
  expect(record.text.join("\n")).toContain("schema: PermanentError: no such card ***");
  const { body: peeked } = await api.call("/queues/orders-dead-letters/messages");
  expect(JSON.parse(peeked.messages[0].body)).toMatchObject({ id: "bad-1", note: "paid with ***" });
});

test("a job of a masked console names its records without the masked key", async () => {
  const { api } = consoles[3] as (typeof consoles)[0];
  const scope = "pipeline=people&generation=0";
  const job = await createRedriveProbe(api).run(`/dead-letters/redrive?${scope}`, {
    filter: {},
    dryRun: true,
  });
  expect(job).toMatchObject({ state: "done", items: [{ name: "s3://people/***" }] });
});
