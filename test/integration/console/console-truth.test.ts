// The console's data is true: what its API shows is what the command line and the ledger say, while
// a consumer works, after it was killed in the middle, while records wait for a retry, are held or
// dead-lettered, while the pipeline is paused, and after another consumer has taken over.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { startCloud } from "../../../src/cloud/start-cloud.ts";
import { startConsole } from "../../../src/console/start-console.ts";
import type { Pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { outcomeName } from "../../../src/operate/history/record-outcomes.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { devSetup } from "../../../src/run/dev/dev-setup.ts";
import { putLocalObject } from "../../../src/run/dev/put-object.ts";
import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";
import { openLedger } from "../../../src/run/open/open-ledger.ts";
import { useCommands } from "../../support/command-process.ts";
import { consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { isFullSize } from "../../support/full-size.ts";
import { LAPSE_MS } from "../../support/patience.ts";

const commands = useCommands("console-truth");
/** Files of each kind. */
const SIZE = isFullSize ? 20 : 2;

const SOURCE = `import { PermanentError, pipeline } from "tidegate";
export default pipeline({
  name: "days",
  source: { bucket: "days", prefix: "in/", queue: "days-events" },
  eventTime: { of: ({ object }) => object.key.split("/")[1] + "T00:00:00Z", late: "hold" },
  visibilityMs: ${LAPSE_MS},
  concurrency: 64,
  retry: { attempts: 3, baseMs: 1_800_000, capMs: 1_800_000 },
  async handler({ object }) {
    if (object.key.includes("bad")) throw new PermanentError("no such day", { class: "schema" });
    if (object.key.includes("waits")) throw new Error("not today");
    if (object.key.includes("hangs") && process.env.HANGS) await new Promise(() => {});
  },
});
`;

const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: "any",
  AWS_SECRET_ACCESS_KEY: "any",
  AWS_REGION: "us-east-1",
};

// biome-ignore lint/suspicious/noExplicitAny: lines of JSON, compared as they are.
type Json = any;

interface World {
  readonly file: string;
  readonly url: string;
  readonly endpoint: string;
  readonly ledger: Ledger;
  readonly api: ReturnType<typeof consoleClient>;
}

/** The lines of a command, as JSON. */
async function cli(...words: string[]): Promise<Json[]> {
  const lines: string[] = [];
  const notes: string[] = [];
  const out = {
    terminal: false,
    line: (text: string) => void lines.push(text),
    note: (text: string) => void notes.push(text),
  };
  const code = await runCli([...words, "--json"], out);
  if (code !== 0) throw new Error(`${words.join(" ")}: ${notes.join("\n")}`);
  return lines.map((line) => JSON.parse(line));
}

const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
const at = (text: string | null) => (text === null ? null : Date.parse(text));

/** A claim is renewed while a handler runs, so it has no time that stays. */
function recordFacts(record: Json) {
  const { key, outcome, attempts, fence, rows, seenAt, failure } = record;
  const changedAt = outcome === "in-progress" ? null : record.changedAt;
  return { key, outcome, attempts, fence, rows, seenAt, changedAt, failure };
}

/** What the command line says. */
async function saidByCommands({ file, url, endpoint }: World) {
  const where = ["--ledger", url, "--pipeline", "days"];
  const records = await cli("records", "list", ...where, "--limit", "10000");
  const dead = await cli("dlq", "list", ...where, "--limit", "10000");
  const held = await cli("late", "list", ...where);
  const [status] = await cli("pipeline", "status", "days", "--ledger", url);
  const [time] = await cli("watermark", file, "--ledger", url, "--endpoint", endpoint);
  const { paused } = status;
  return {
    records: records.map(recordFacts).toSorted(byKey),
    dead: dead
      .map(({ key, class: errorClass, fingerprint, message }) => {
        return { key, errorClass, fingerprint, message };
      })
      .toSorted(byKey),
    held: held.map(({ record_key: key, event_time: time }) => ({ key, time })).toSorted(byKey),
    paused: paused === null ? null : { ...paused, since: at(paused.since) },
    processes: status.processes.map(({ id }: { id: string }) => id),
    watermark: at(time.watermark),
    completeUpTo: at(time.completeUpTo),
    holder: time.heldBy === null ? null : `${time.heldBy.kind}: ${time.heldBy.what}`,
  };
}

/** Every page of a list. */
async function all({ api }: World, path: string, field: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let next: string | null = ""; next !== null; ) {
    const cursor: string = next === "" ? "" : `&cursor=${encodeURIComponent(next)}`;
    const { body }: { body: Json } = await api.call(`${path}?limit=7${cursor}`);
    items.push(...body[field]);
    next = body.next;
  }
  return items;
}

/** What the console shows of the same. */
async function shownByConsole(world: World) {
  const { api } = world;
  const records = await all(world, "/records", "records");
  const groups = await all(world, "/dead-letters", "groups");
  const dead: Json[] = [];
  for (const { id, count } of groups) {
    const items = await all(world, `/dead-letters/${id}/items`, "items");
    expect(items).toHaveLength(count);
    dead.push(...items);
  }
  const { body: state } = await api.call("/pipeline");
  const { body: time } = await api.call("/time");
  const { body: flow } = await api.call("/flow");
  expect(flow.paused).toEqual(state.paused);
  return {
    records: records.map(recordFacts).toSorted(byKey),
    dead: dead
      .map(({ key, errorClass, fingerprint, message }) => {
        return { key, errorClass, fingerprint, message };
      })
      .toSorted(byKey),
    held: time.held.items
      .map(({ key, eventTime }: Json) => ({ key, time: eventTime }))
      .toSorted(byKey),
    paused: state.paused,
    processes: state.processes.map(({ id }: { id: string }) => id),
    watermark: time.watermark,
    completeUpTo: time.completeUpTo,
    holder: time.heldBy?.replace(/, event time .*$/, "") ?? null,
  };
}

/** No outcome changes any more, so the console has to say the same, as soon as it has read it. */
async function expectTruth(world: World) {
  const said = await eventually(async () => {
    const commands = await saidByCommands(world);
    expect(await shownByConsole(world)).toEqual(commands);
    return commands;
  });
  const { records } = await world.ledger.listRecords(
    { pipeline: "days", generation: 0 },
    { by: "event-time" },
    { after: null, limit: 1_000 },
  );
  const stored = records.map(({ key, record }) => ({ key, outcome: outcomeName(record.kind) }));
  expect(said.records.map(({ key, outcome }) => ({ key, outcome }))).toEqual(
    stored.toSorted(byKey),
  );
  await expectQueues(world);
  return said;
}

/** Depths, as a client of the queues reads them. */
async function expectQueues({ api, endpoint }: World) {
  await eventually(async () => {
    const { body } = await api.call("/queues");
    for (const { name, visible, inFlight, delayed } of body.queues) {
      const QueueUrl = `${endpoint}/000000000000/${name}`;
      const reply = await fetch(endpoint, {
        method: "POST",
        headers: {
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": "AmazonSQS.GetQueueAttributes",
        },
        body: JSON.stringify({ QueueUrl, AttributeNames: ["All"] }),
      });
      const { Attributes: read } = (await reply.json()) as Json;
      expect([name, visible, inFlight, delayed]).toEqual([
        name,
        Number(read.ApproximateNumberOfMessages),
        Number(read.ApproximateNumberOfMessagesNotVisible),
        Number(read.ApproximateNumberOfMessagesDelayed),
      ]);
    }
    expect(body.queues).toHaveLength(2);
  });
}

const outcomes = (records: readonly { outcome: string }[]) => {
  const counts: Record<string, number> = {};
  for (const { outcome } of records) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

function consoleOn(ledger: string, endpoint: string, pipeline: Pipeline) {
  const queues = { queue: "days-events", deadLetterQueue: "days-dead-letters" };
  const server = { endpoint, region: "us-east-1", port: 0, host: "127.0.0.1" };
  return startConsole({ ledger, pipeline, ...server, ...queues, onError: () => {} });
}

async function openWorld(file: string) {
  writeFileSync(file, SOURCE);
  const pipeline = await loadPipeline(file);
  const data = join(commands.folder, "data");
  const url = `sqlite:${join(data, "ledger.db")}`;
  const cloud = await startCloud({ data, port: 0, setup: devSetup(pipeline) });
  const { endpoint } = cloud;
  const words = ["run", file, "--ledger", url, "--endpoint", endpoint, "--metrics-port", "0"];
  const start = (env: object) => commands.start(words, { ...CREDENTIALS, ...env });
  const put = async (day: string, name: string) => {
    const target = { endpoint, bucket: "days" };
    for (let n = 0; n < SIZE; n += 1) await putLocalObject(target, `in/${day}/${name} ${n}`, name);
  };
  return { cloud, pipeline, url, endpoint, start, put };
}

test("the console shows what the command line and the ledger say, through kill, pause and takeover", async () => {
  const file = join(commands.folder, "days.ts");
  const { cloud, pipeline, url, endpoint, start, put } = await openWorld(file);
  const first = start({ HANGS: "1" });
  await eventually(() => expect(first.printed.out + first.printed.err).toContain("days-events"));
  const ledger = await openLedger(url, systemPorts, { readOnly: true });
  const server = await consoleOn(url, endpoint, pipeline);
  const world = { file, url, endpoint, ledger, api: consoleClient(server.origin) };
  const until = (expected: Record<string, number>) =>
    eventually(async () => {
      const records = await cli("records", "list", "--ledger", url, "--limit", "10000");
      expect(outcomes(records)).toEqual(expected);
    });
  try {
    await put("2026-03-10", "good");
    await until({ committed: SIZE });
    await put("2026-03-11", "bad");
    await put("2026-03-12", "waits");
    await until({ committed: SIZE, "dead-lettered": SIZE, retrying: SIZE });
    await eventually(async () => {
      const [time] = await cli("watermark", file, "--ledger", url, "--endpoint", endpoint);
      expect(time.watermark).not.toBeNull();
    });
    await put("2026-02-01", "held");
    await until({ committed: SIZE, "dead-lettered": 2 * SIZE, retrying: SIZE });
    await put("2026-03-13", "hangs");
    const settled = { committed: SIZE, "dead-lettered": 2 * SIZE, retrying: SIZE };
    await until({ ...settled, "in-progress": SIZE });
    const working = await expectTruth(world);
    expect(working.dead).toHaveLength(SIZE);
    expect(working.held).toHaveLength(SIZE);
    expect(working.processes).toHaveLength(1);

    await cli("pipeline", "pause", "days", "--ledger", url, "--reason", "a test");
    first.child.kill("SIGKILL");
    await first.ended;
    const killed = await expectTruth(world);
    expect(killed.paused).toMatchObject({ reason: "a test" });
    expect(outcomes(killed.records)).toEqual({ ...settled, "in-progress": SIZE });

    const second = start({});
    await cli("pipeline", "resume", "days", "--ledger", url);
    await until({ ...settled, committed: 2 * SIZE });
    second.child.kill("SIGTERM");
    expect((await second.ended).code).toBe(0);
    const after = await expectTruth(world);
    expect(after.paused).toBeNull();
  } finally {
    await server.close();
    await ledger.close();
    await cloud.close();
  }
});
