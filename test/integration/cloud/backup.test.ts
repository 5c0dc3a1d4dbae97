// tidegate backup and restore: damaged backups, and the commands. What a backup under load has is
// in backup-load.test.ts.

import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runCli } from "../../../src/cli/run-cli.ts";
import { pipeline, tables } from "../../../src/index.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { backupDataFolder } from "../../../src/stores/sqlite/backup/backup-folder.ts";
import { readBackupManifest } from "../../../src/stores/sqlite/backup/backup-manifest.ts";
import { databasesIn, takeCut } from "../../../src/stores/sqlite/backup/consistent-cut.ts";
import { restoreDataFolder } from "../../../src/stores/sqlite/backup/restore-folder.ts";
import { runChild } from "../../support/child-process.ts";
import { startCommand, untilHolds } from "../../support/command-process.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("backup");
const at = (name: string) => join(folder, name);
const createdAt = "2026-03-01T00:00:00Z";
const QUIET = { onLogLine: () => {} };
const SETTINGS = { port: 0, metricsPort: 0 };

/** Writes one row per file. */
const files = pipeline({
  name: "files",
  source: { bucket: "files" },
  sink: tables({ applied: { columns: { name: "text", times: "integer" }, key: ["name"] } }),
  async handler(event, context) {
    const name = await event.text();
    context.upsert("applied", { name, times: 1 });
  },
});

function appliedIn(data: string): Map<string, number> {
  using database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  const rows = database.prepare("SELECT name, times FROM applied").all();
  return new Map(rows.map(({ name, times }) => [String(name), Number(times)]));
}

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

const RENEWAL = new URL("../../../src/stores/sqlite/renew-log.ts", import.meta.url).href;

/** What another process finds: whether this one has the database open. */
async function seenByAnother(path: string): Promise<string> {
  const script = `import { whileLocked } from ${JSON.stringify(RENEWAL)};
    process.stdout.write(whileLocked(${JSON.stringify(path)}, () => "unfolded"));`;
  const { stdout, stderr } = await runChild(process.execPath, [
    "--input-type=module",
    "-e",
    script,
  ]);
  return stdout || stderr;
}

test("a database that this process has open stays locked by it after a backup", async () => {
  const data = at("open");
  mkdirSync(data);
  using database = new DatabaseSync(join(data, "ledger.db"));
  database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  writeFileSync(join(data, "notes.txt"), "no database".repeat(100));
  new DatabaseSync(join(data, "empty.db")).close();
  using foreign = new DatabaseSync(join(data, "orders-wal"));
  foreign.exec("CREATE TABLE t (x)");
  expect(await seenByAnother(join(data, "ledger.db"))).toBe("in-use");
  expect(databasesIn(data)).toEqual(["ledger.db", "orders-wal"]);
  expect(await seenByAnother(join(data, "ledger.db"))).toBe("in-use");
  await backupDataFolder(data, at("open-copy"), { createdAt });
  expect(await seenByAnother(join(data, "ledger.db"))).toBe("in-use");
});

test("a cut that fails releases each lock, also if one cannot be closed as it should (U3)", () => {
  const data = at("broken");
  mkdirSync(data);
  using broken = new DatabaseSync(join(data, "a.db"), { defensive: false });
  using sound = new DatabaseSync(join(data, "b.db"), { timeout: 0 });
  for (const database of [broken, sound]) {
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
  }
  broken.exec("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'broken'");
  expect(() => takeCut(data, ["a.db", "b.db"])).toThrow("malformed database schema");
  sound.exec("INSERT INTO t VALUES (1)");
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
