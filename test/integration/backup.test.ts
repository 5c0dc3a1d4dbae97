// tidegate backup and restore: a data folder copied while a cloud and a pipeline run on it.

import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { PermanentError, pipeline, tables } from "../../src/index.ts";
import { type RunningDev, startDev } from "../../src/run/dev/start-dev.ts";
import { backupDataFolder } from "../../src/stores/sqlite/backup/backup-folder.ts";
import { readBackupManifest } from "../../src/stores/sqlite/backup/backup-manifest.ts";
import { restoreDataFolder } from "../../src/stores/sqlite/backup/restore-folder.ts";
import { startCommand, untilHolds } from "../support/command-process.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("backup");
const at = (name: string) => join(folder, name);
const createdAt = "2026-03-01T00:00:00Z";
const QUIET = { onLogLine: () => {} };
const SETTINGS = { port: 0, metricsPort: 0 };

/** Counts every application of a file; every tenth file is poison. */
const files = pipeline({
  name: "files",
  source: { bucket: "files" },
  retry: { attempts: 1 },
  onMissing: "drop",
  visibilityMs: 3_000, // Messages in flight at the cut are redelivered after it.
  sink: tables({ applied: { columns: { name: "text", times: "integer" }, key: ["name"] } }),
  async handler(event, context) {
    const name = await event.text();
    if (name.endsWith("0")) throw new PermanentError("poison");
    context.sql(
      `INSERT INTO applied (name, times) VALUES (?, 1)
       ON CONFLICT (name) DO UPDATE SET times = applied.times + 1`,
      [name],
    );
  },
});

function appliedIn(data: string): Map<string, number> {
  using database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  const rows = database.prepare("SELECT name, times FROM applied").all();
  return new Map(rows.map(({ name, times }) => [String(name), Number(times)]));
}

/** Puts files, and deletes some, until it is stopped; the names that the cloud acknowledged. */
function startLoad(dev: RunningDev) {
  const acknowledged: string[] = [];
  let stopped = false;
  const url = (name: string) => `${dev.endpoint}/files/${name}`;
  const one = async (worker: number) => {
    for (let count = 1; !stopped; count += 1) {
      const name = `w${worker}-${count}`;
      await dev.put(name, name);
      acknowledged.push(name);
      if (count % 3 === 0) await dev.put("scratch", `scratch of ${name}1`);
      if (count % 5 === 0) await fetch(url("scratch"), { method: "DELETE" });
    }
  };
  const running = Promise.all([1, 2, 3, 4].map(one));
  return {
    acknowledged,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

async function objectsOf(endpoint: string): Promise<string[]> {
  const listed = await (await fetch(`${endpoint}/files?list-type=2&max-keys=1000`)).text();
  return [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = ""]) => key);
}

test("a backup under load has all that was acknowledged before, and rows are applied once", async () => {
  const data = at("live");
  const dev = await startDev(files, { ...SETTINGS, data }, QUIET);
  const load = startLoad(dev);
  await expect.poll(() => load.acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(80);
  const before = [...load.acknowledged];
  await backupDataFolder(data, at("b1"), { createdAt });
  const during = load.acknowledged.length;
  await expect.poll(() => load.acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(during);
  await load.stop();
  await dev.stop();

  restoreDataFolder(at("b1"), at("restored"));
  const again = await startDev(files, { ...SETTINGS, data: at("restored") }, QUIET);
  try {
    await again.idle();
    const names = await objectsOf(again.endpoint);
    for (const name of names) {
      const reply = await fetch(`${again.endpoint}/files/${name}`);
      expect([name, reply.status, (await reply.text()).includes(name)]).toEqual([name, 200, true]);
    }
    const applied = appliedIn(at("restored"));
    const poison = before.filter((name) => name.endsWith("0"));
    const good = before.filter((name) => !name.endsWith("0"));
    expect(good.filter((name) => applied.get(name) !== 1)).toEqual([]);
    expect([...applied].filter(([name, times]) => times !== 1 && !name.includes(" "))).toEqual([]);
    expect(await again.deadLetterDepth()).toBeGreaterThanOrEqual(poison.length);
  } finally {
    await again.stop();
  }
});

test("a backup that is killed is rejected by a restore", async () => {
  const data = at("many");
  mkdirSync(join(data, "blobs", "00"), { recursive: true });
  for (let blob = 0; blob < 3_000; blob += 1) {
    writeFileSync(join(data, "blobs", "00", blob.toString(16).padStart(32, "0")), "x");
  }
  new DatabaseSync(join(data, "ledger.db")).exec("CREATE TABLE t (x)");
  const run = startCommand(["backup", at("killed"), "--data", data]);
  await untilHolds(run, () => existsSync(join(at("killed"), "blobs", "00")));
  run.child.kill("SIGKILL");
  expect((await run.ended).signal).toBe("SIGKILL");
  expect(() => restoreDataFolder(at("killed"), at("x1"))).toThrow("is not a finished backup");
  expect(existsSync(at("x1"))).toBe(false);
  await expect(backupDataFolder(data, at("killed"), { createdAt })).rejects.toThrow("is not empty");
});

async function smallBackup(name: string) {
  const dev = await startDev(files, { ...SETTINGS, data: at(`${name}-data`) }, QUIET);
  await dev.put("a1", "a1");
  await dev.idle();
  await backupDataFolder(at(`${name}-data`), at(name), { createdAt });
  return dev;
}

test("a damaged or incomplete backup is rejected as a whole, and so is a folder in use", async () => {
  const dev = await smallBackup("small");
  try {
    expect(() => restoreDataFolder(at("small"), at("small-data"))).toThrow("is not empty");
    const { files: list } = readBackupManifest(at("small"));
    expect(list.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["broker.sqlite", "ledger.db", expect.stringMatching(/^blobs\//)]),
    );
    const blob = join(at("small"), list.find(({ path }) => path.startsWith("blobs"))?.path ?? "");
    appendFileSync(blob, "!");
    expect(() => restoreDataFolder(at("small"), at("x2"))).toThrow("is damaged");
    rmSync(blob);
    expect(() => restoreDataFolder(at("small"), at("x2"))).toThrow("is missing from the backup");
    appendFileSync(join(at("small"), "backup.json"), " ,");
    expect(() => restoreDataFolder(at("small"), at("x2"))).toThrow("backup.json is damaged");
    expect(readdirSync(folder).filter((name) => name.startsWith("x2"))).toEqual([]);
  } finally {
    await dev.stop();
  }
});

test("the commands say what they did, and reject a folder inside the data folder", async () => {
  const lines: string[] = [];
  const notes: string[] = [];
  const out = {
    terminal: false,
    line: (text: string) => void lines.push(text),
    note: (text: string) => void notes.push(text),
  };
  const data = at("small-data");
  expect(await runCli(["backup", join(data, "inside"), "--data", data], out)).toBe(2);
  expect(notes.join("\n")).toContain("is inside the data folder");
  expect(await runCli(["backup", at("b2"), "--data", data], out)).toBe(0);
  expect(await runCli(["restore", at("b2"), "--data", at("r2"), "--json"], out)).toBe(0);
  expect(lines[0]).toMatch(/: 2 databases, \d+ object files?, [\d.]+ MB$/);
  expect(JSON.parse(lines[1] ?? "{}")).toMatchObject({ databases: 2, blobs: 1 });
  expect(appliedIn(at("r2"))).toEqual(new Map([["a1", 1]]));
});
