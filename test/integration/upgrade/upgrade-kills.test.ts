import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPostgresLedger } from "../../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../../src/stores/postgres/outbox.ts";
import { upgradePostgres } from "../../../src/stores/postgres/upgrade-tables.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import { SQLITE_LEDGER, schemaInFile } from "../../../src/stores/sqlite/ledger/schema.ts";
import { upgradeFile, upgradeSqlite } from "../../../src/stores/sqlite/upgrade-file.ts";
import { runChild } from "../../support/child-process.ts";
import {
  clockAfter,
  expectOldRecords,
  expectOldRows,
  restorePostgres,
  restoreSqlite,
} from "../../support/old-stores/old-stores.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "../../support/small-disk.ts";
import { usePostgres } from "../../support/stores/database-servers.ts";
import { turn } from "../../support/stores/real-ports.ts";

const OLDEST = "4f49d010";
const WORKER = join(import.meta.dirname, "upgrade-worker.ts");
/** More steps than any upgrade has. */
const STEPS_MAX = 200;
const postgres = await usePostgres();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-upgrade-kills-"));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const upgrade = (...words: string[]) => runChild(process.execPath, [WORKER, ...words]);

async function expectOldFile(path: string): Promise<void> {
  const clock = clockAfter();
  const ledger = createSqliteLedger({ clock, turn }, { path });
  const outbox = createSqliteOutbox({ clock }, { path });
  await expectOldRecords(ledger, clock);
  await expectOldRows(outbox, clock);
  expect(await ledger.check()).toEqual([]);
  await ledger.close();
  await outbox.close();
}

async function expectOldDatabase(url: string): Promise<void> {
  const clock = clockAfter();
  const ledger = await createPostgresLedger({ clock }, { url });
  const outbox = await createPostgresOutbox({ clock }, { url });
  await expectOldRecords(ledger, clock);
  await expectOldRows(outbox, clock);
  await ledger.close();
  await outbox.close();
}

test("SQLite: killed at any step, the next start continues, and no draft is left", async () => {
  let killed = 0;
  for (let nth = 1; nth <= STEPS_MAX; nth += 1) {
    const own = join(folder, `kill-${nth}`);
    mkdirSync(own);
    const path = join(own, "ledger.db");
    restoreSqlite(OLDEST, path);
    const { exitCode, stdout } = await upgrade("sqlite", path, String(nth));
    await expectOldFile(path);
    const backups = ["ledger.db.ledger-7.backup", "ledger.db.outbox-3.backup"];
    expect(readdirSync(own).sort()).toEqual(["ledger.db", ...backups]);
    if (exitCode === 0) {
      expect(stdout).toBe("upgraded\n");
      break;
    }
    killed += 1;
  }
  expect(killed).toBeGreaterThan(20);
  expect(killed).toBeLessThan(STEPS_MAX);
});

test.skipIf(!postgres.available)(
  "PostgreSQL: killed at any step, the next command continues",
  async () => {
    let killed = 0;
    for (let nth = 1; nth <= STEPS_MAX; nth += 1) {
      const url = await postgres.freshUrl();
      await restorePostgres(OLDEST, url);
      const { exitCode } = await upgrade("postgres", url, String(nth));
      await upgradePostgres(url, { dryRun: false });
      await expectOldDatabase(url);
      if (exitCode === 0) break;
      killed += 1;
    }
    expect(killed).toBeGreaterThan(10);
    expect(killed).toBeLessThan(STEPS_MAX);
  },
);

test("processes that upgrade at once do each step once, and all of them start", async () => {
  const path = join(folder, "together.db");
  restoreSqlite(OLDEST, path);
  const results = await Promise.all(["a", "b", "c"].map(() => upgrade("sqlite", path)));
  expect(results.map(({ stdout }) => stdout)).toEqual(results.map(() => "upgraded\n"));
  await expectOldFile(path);
  if (!postgres.available) return;
  const url = await postgres.freshUrl();
  await restorePostgres(OLDEST, url);
  const commands = await Promise.all(["a", "b", "c"].map(() => upgrade("postgres", url)));
  expect(commands.map(({ stdout }) => stdout)).toEqual(commands.map(() => "upgraded\n"));
  await expectOldDatabase(url);
});

test("a backup is not replaced by a draft that another process's step has outrun (U2)", () => {
  const path = join(folder, "outrun.db");
  restoreSqlite(OLDEST, path);
  const backup = `${path}.ledger-7.backup`;
  const db = new DatabaseSync(path);
  const prepare = db.prepare.bind(db);
  let first: Buffer | null = null;
  db.prepare = (sql) => {
    if (sql.startsWith("VACUUM INTO") && first === null) {
      upgradeSqlite(path, { dryRun: false }); // The other process, after this one's plan.
      first = readFileSync(backup);
    }
    return prepare(sql);
  };
  upgradeFile(db, path, SQLITE_LEDGER, { busyMs: 1_000 });
  db.close();
  expect(first).not.toBeNull();
  expect(readFileSync(backup).equals(first as unknown as Buffer)).toBe(true);
  const copy = new DatabaseSync(backup, { readOnly: true });
  expect(schemaInFile(copy, "ledger")?.version).toBe(7);
  copy.close();
  const drafts = readdirSync(folder).filter((name) => /^outrun.*\.new/.test(name));
  expect(drafts).toEqual([]);
});

test("without space for the backup, the start says so in one sentence and changes nothing", async (context) => {
  const disk = mountSmallDisk(join(folder, "disk"), 1);
  if (disk === null) return context.skip(NO_SMALL_DISK);
  try {
    const path = join(disk.path, "ledger.db");
    restoreSqlite(OLDEST, path);
    const before = readFileSync(path);
    const filler = join(disk.path, "filler");
    writeFileSync(filler, Buffer.alloc(1_048_576 - before.length - 160 * 1_024));
    const { stdout } = await upgrade("sqlite", path);
    expect(stdout).toMatch(/^TG_STORE_UNAVAILABLE: the ledger in .* has schema 7 and could not be/);
    expect(stdout).toContain("full");
    expect(stdout).toContain("nothing is lost, and the next start continues");
    const copy = join(folder, "full.db");
    copyFileSync(path, copy);
    await expectOldFile(copy);
    disk.grow(8);
    await expectOldFile(path);
  } finally {
    disk.unmount();
  }
});

test("a file that may not be written is refused in one sentence, and is unchanged", async () => {
  const own = join(folder, "read-only");
  mkdirSync(own);
  const path = join(own, "ledger.db");
  restoreSqlite(OLDEST, path);
  const before = readFileSync(path);
  chmodSync(path, 0o444);
  chmodSync(own, 0o555);
  const { stdout } = await upgrade("sqlite", path, "0", "unprivileged");
  chmodSync(own, 0o755);
  expect(stdout).toMatch(/^TG_(STORE|LEDGER)_UNAVAILABLE: the ledger .*(readonly|permission)/i);
  expect(stdout.trim().split("\n")).toHaveLength(1);
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(own)).toEqual(["ledger.db"]);
  chmodSync(path, 0o644);
  await expectOldFile(path);
});
