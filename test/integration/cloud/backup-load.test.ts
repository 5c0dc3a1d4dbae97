// Backups under load: each backup has everything that was acknowledged before it began, and after
// its restore nothing takes effect twice. Copies without the protocol of backups fail the check.

import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type RunningDev, startDev } from "../../../src/api/run.ts";
import { PermanentError, pipeline, tables } from "../../../src/index.ts";
import { putLocalObject } from "../../../src/run/dev/put-object.ts";
import { backupDataFolder } from "../../../src/stores/sqlite/backup/backup-folder.ts";
import { restoreDataFolder } from "../../../src/stores/sqlite/backup/restore-folder.ts";
import { consoleClient } from "../../support/console-api-client.ts";
import { eventually } from "../../support/eventually.ts";
import { isFullSize } from "../../support/full-size.ts";
import { LAPSE_MS, patienceMs } from "../../support/patience.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("backup-load");
const at = (name: string) => join(folder, name);
const createdAt = "2026-03-01T00:00:00Z";
const OPTIONS = { onLogLine: () => {}, onError: () => {}, console: { allowActions: true } };
const SETTINGS = { port: 0, metricsPort: 0 };
const BACKUPS = isFullSize ? 12 : 2;
const BETWEEN = 25;
/** Fewer than a small run writes, so that every run reads several pages. */
const PAGE_KEYS = 20;
const LIMIT_MS = patienceMs(isFullSize ? 600_000 : 120_000);

/** Handlers wait for it. */
let gate: Promise<void> = Promise.resolve();

/** Counts every application of a file; every tenth file is poison. */
const files = pipeline({
  name: "files",
  source: { bucket: "files" },
  retry: { attempts: 1 },
  onMissing: "drop",
  visibilityMs: LAPSE_MS, // Messages in flight at the cut are redelivered after it.
  sink: tables({ applied: { columns: { name: "text", times: "integer" }, key: ["name"] } }),
  async handler(event, context) {
    await gate;
    const name = await event.text();
    if (name.endsWith("0")) throw new PermanentError("poison");
    context.sql(
      `INSERT INTO applied (name, times) VALUES (?, 1)
       ON CONFLICT (name) DO UPDATE SET times = applied.times + 1`,
      [name],
    );
  },
});

interface Written {
  readonly files: readonly string[];
  /** Bodies of messages in a queue that is not consumed. */
  readonly letters: readonly string[];
}

const LETTERS = "scratch-letters";
const call = async (endpoint: string, action: string, input: object) => {
  const headers = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-target": `AmazonSQS.${action}`,
  };
  const reply = await fetch(endpoint, { method: "POST", headers, body: JSON.stringify(input) });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
};
const lettersOf = (endpoint: string) => `${endpoint}/000000000000/${LETTERS}`;

/** Puts and deletes objects and sends messages until it is stopped. */
async function startLoad({ endpoint }: RunningDev) {
  await call(endpoint, "CreateQueue", { QueueName: LETTERS });
  const written = { files: [] as string[], letters: [] as string[] };
  const target = { endpoint, bucket: "files" };
  let stopped = false;
  const one = async (worker: number) => {
    for (let count = 1; !stopped; count += 1) {
      const name = `w${worker}-${count}`;
      await putLocalObject(target, name, name);
      written.files.push(name);
      await call(endpoint, "SendMessage", { QueueUrl: lettersOf(endpoint), MessageBody: name });
      written.letters.push(name);
      if (count % 3 === 0) await putLocalObject(target, "scratch", `scratch of ${name}1`);
      if (count % 5 === 0) await fetch(`${endpoint}/files/scratch`, { method: "DELETE" });
    }
  };
  const running = Promise.all([1, 2, 3, 4].map(one));
  const copy = (): Written => ({ files: [...written.files], letters: [...written.letters] });
  const stop = async () => {
    stopped = true;
    await running;
  };
  return { copy, stop };
}

/** Starts the pipeline on a restored folder and says what is lost, doubled or unreadable. */
async function flawsIn(data: string, before: Written): Promise<string[]> {
  const dev = await startDev(files, { ...SETTINGS, data }, OPTIONS);
  try {
    await dev.idle();
    const flaws: string[] = [];
    const names = await keysIn(`${dev.endpoint}/files`);
    for (const name of names) {
      const reply = await fetch(`${dev.endpoint}/files/${name}`);
      const text = await reply.text();
      if (!reply.ok || !text.includes(name)) flaws.push(`object ${name} is unreadable`);
    }
    const present = new Set(names);
    const missing = before.files.filter((name) => !present.has(name));
    flaws.push(...missing.map((name) => `object ${name} is lost`));
    const applied = appliedIn(data);
    const good = before.files.filter((name) => !name.endsWith("0"));
    flaws.push(...good.filter((name) => !applied.has(name)).map((name) => `row ${name} is lost`));
    const twice = [...applied].filter(([name, times]) => times !== 1 && !name.includes(" "));
    flaws.push(...twice.map(([name]) => `row ${name} is doubled`));
    const poison = before.files.filter((name) => name.endsWith("0"));
    const depth = (await dev.deadLetterDepth()) ?? 0;
    if (depth < poison.length) flaws.push(`${poison.length - depth} dead letters are lost`);
    return [...flaws, ...(await letterFlaws(dev.endpoint, before.letters))];
  } finally {
    await dev.stop();
  }
}

/** All keys of a bucket, page by page. */
async function keysIn(bucket: string): Promise<string[]> {
  const keys: string[] = [];
  for (let token: string | undefined = ""; token !== undefined; ) {
    const query: string = token === "" ? "" : `&continuation-token=${encodeURIComponent(token)}`;
    const reply = await fetch(`${bucket}?list-type=2&max-keys=${PAGE_KEYS}${query}`);
    const page = await reply.text();
    if (!reply.ok) throw new Error(page);
    keys.push(...[...page.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = ""]) => key));
    token = /<NextContinuationToken>([^<]+)</.exec(page)?.[1];
  }
  return keys;
}

function appliedIn(data: string): Map<string, number> {
  using database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  const rows = database.prepare("SELECT name, times FROM applied").all();
  return new Map(rows.map(({ name, times }) => [String(name), Number(times)]));
}

async function letterFlaws(endpoint: string, before: readonly string[]): Promise<string[]> {
  const bodies: string[] = [];
  const api = consoleClient(endpoint);
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const path: string = `/queues/${LETTERS}/messages?limit=100${query}`;
    const { body, status } = await api.call(path);
    if (status === 404) break;
    bodies.push(...body.messages.map((message: { body: string }) => message.body));
    cursor = body.next;
  }
  const present = new Set(bodies);
  const lost = before.filter((body) => !present.has(body)).map((body) => `letter ${body} is lost`);
  return present.size === bodies.length ? lost : [...lost, "a letter is doubled"];
}

test(
  "every backup under load has all that was acknowledged before it, and rows are applied once",
  async () => {
    const data = at("live");
    const dev = await startDev(files, { ...SETTINGS, data }, OPTIONS);
    const backups: Written[] = [];
    try {
      const load = await startLoad(dev);
      try {
        for (let count = 0; count < BACKUPS; count += 1) {
          const enough = (backups.at(-1)?.files.length ?? 0) + BETWEEN;
          await eventually(() => expect(load.copy().files.length).toBeGreaterThan(enough));
          backups.push(load.copy());
          await backupDataFolder(data, at(`backup-${count}`), { createdAt });
        }
        const during = load.copy().files.length;
        await eventually(() => expect(load.copy().files.length).toBeGreaterThan(during));
      } finally {
        await load.stop();
      }
    } finally {
      await dev.stop();
    }
    for (const [count, before] of backups.entries()) {
      restoreDataFolder(at(`backup-${count}`), at(`restored-${count}`));
      expect(await flawsIn(at(`restored-${count}`), before), `backup ${count}`).toEqual([]);
    }
  },
  LIMIT_MS,
);

/** Copies the files with this start of their names, as `cp` does. */
function plainCopy(data: string, target: string, start: string): void {
  mkdirSync(target, { recursive: true });
  const names = readdirSync(data).filter((name) => name.startsWith(start));
  for (const name of names.filter((each) => each !== "blobs")) {
    copyFileSync(join(data, name), join(target, name));
  }
  if (names.includes("blobs") && existsSync(join(data, "blobs"))) {
    cpSync(join(data, "blobs"), join(target, "blobs"), { recursive: true });
  }
}

test.each([
  { order: ["ledger", "broker", "blobs"], flaw: "row w1 is lost" },
  { order: ["broker", "ledger", "blobs"], flaw: "1 dead letters are lost" },
  { order: ["blobs", "ledger", "broker"], flaw: "object later is unreadable" },
])(
  "a copy of $order one after the other, while the pipeline works, is caught",
  async ({ order, flaw }) => {
    const name = order.join("-");
    const data = at(name);
    let open = () => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const dev = await startDev(files, { ...SETTINGS, data }, OPTIONS);
    for (const file of ["w1", "w10"]) await dev.put(file, file);
    const [first = "", ...others] = order;
    plainCopy(data, at(`${name}-copy`), first);
    open();
    await dev.put("later", "later");
    await dev.idle();
    await dev.stop();
    for (const start of others) plainCopy(data, at(`${name}-copy`), start);
    const flaws = await flawsIn(at(`${name}-copy`), { files: ["w1", "w10"], letters: [] });
    expect(flaws).toContain(flaw);
  },
);
