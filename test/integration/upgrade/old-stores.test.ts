import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openOperator } from "../../../src/operate/open-operator.ts";
import { systemPorts } from "../../../src/platform/index.ts";
import { createDynamoLedger } from "../../../src/stores/dynamodb/ledger.ts";
import { createDynamoOutbox } from "../../../src/stores/dynamodb/outbox.ts";
import { upgradeDynamo } from "../../../src/stores/dynamodb/upgrade-table.ts";
import { createPostgresLedger } from "../../../src/stores/postgres/ledger.ts";
import { createPostgresOutbox } from "../../../src/stores/postgres/outbox.ts";
import { upgradePostgres } from "../../../src/stores/postgres/upgrade-tables.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../../src/stores/sqlite/ledger/outbox.ts";
import {
  clockAfter,
  expectOldRecords,
  expectOldRows,
  OLD_COMMITS,
  restoreDynamo,
  restorePostgres,
  restoreSqlite,
} from "../../support/old-stores/old-stores.ts";
import { queryPostgres, useDynamo, usePostgres } from "../../support/stores/database-servers.ts";

const postgres = await usePostgres();
const dynamo = await useDynamo();
const OUTDATED = { code: "TG_STORE_OLDER" };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-upgrade-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the oldest ledger that must open is among the fixtures", () => {
  expect(OLD_COMMITS).toContain("4f49d010");
  expect(OLD_COMMITS.length).toBeGreaterThanOrEqual(3);
});

describe.each(OLD_COMMITS)("stores written by %s", (commit) => {
  const ports = () => ({ ...systemPorts, clock: clockAfter() });
  const warnings: string[] = [];
  const listen = () => {
    const hear = ({ message }: Error) => warnings.push(message);
    process.on("warning", hear);
    onTestFinished(() => void process.removeListener("warning", hear));
  };

  test("SQLite: a ledger and an outbox are upgraded at the start, after a backup", async () => {
    listen();
    const path = join(folder, `${commit}.db`);
    restoreSqlite(commit, path);
    const before = readFileSync(path);
    const on = ports();
    const ledger = createSqliteLedger(on, { path });
    const outbox = createSqliteOutbox(on, { path });
    await expectOldRecords(ledger, on.clock);
    await expectOldRows(outbox, on.clock);
    expect(await ledger.check()).toEqual([]);
    await ledger.close();
    await outbox.close();
    const backup = `${path}.ledger-7.backup`;
    await expect.poll(() => warnings.join("\n")).toContain(backup);
    expect(existsSync(`${path}.outbox-3.backup`)).toBe(true);
    const restored = join(folder, `${commit}-restored.db`);
    copyFileSync(backup, restored);
    const again = ports();
    const reader = createSqliteLedger(again, { path: restored });
    await expectOldRecords(reader, again.clock);
    await reader.close();
    expect(before.length).toBeGreaterThan(0);
  });

  test("SQLite: `ledger check` and `ledger stats` leave the old file as it is", async () => {
    const path = join(folder, `${commit}-checked.db`);
    restoreSqlite(commit, path);
    const before = readFileSync(path);
    await using operator = openOperator({ ledger: `sqlite:${path}`, clock: clockAfter() });
    expect((await operator.ledger.check()).notes).toEqual([]);
    expect(await operator.ledger.stats()).not.toEqual([]);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(existsSync(`${path}.ledger-7.backup`)).toBe(false);
  });

  test("SQLite: a reader looks at the old file and changes nothing", async () => {
    const path = join(folder, `${commit}-read.db`);
    restoreSqlite(commit, path);
    const before = readFileSync(path);
    const ledger = createSqliteLedger(ports(), { path, readOnly: true });
    const scope = { pipeline: "orders", generation: 0 };
    const page = { after: null, limit: 100 };
    expect((await ledger.listRecords(scope, { by: "event-time" }, page)).records).toHaveLength(8);
    await ledger.close();
    expect(readFileSync(path)).toEqual(before);
    expect(existsSync(`${path}.ledger-7.backup`)).toBe(false);
  });

  test.skipIf(!postgres.available)("PostgreSQL: a command upgrades ledger and outbox", async () => {
    const url = await postgres.freshUrl();
    await restorePostgres(commit, url);
    await expect(createPostgresLedger(ports(), { url })).rejects.toMatchObject(OUTDATED);
    await expect(createPostgresOutbox(ports(), { url })).rejects.toMatchObject(OUTDATED);
    const reader = await createPostgresLedger(ports(), { url, readOnly: true });
    expect(await reader.stats()).toHaveLength(1);
    await reader.close();
    const planned = await upgradePostgres(url, { dryRun: true });
    await expect(createPostgresLedger(ports(), { url })).rejects.toMatchObject(OUTDATED);
    expect(await upgradePostgres(url, { dryRun: false })).toEqual(planned);
    expect(planned.map(({ part, from, to }) => [part, from, to])).toEqual([
      ["ledger", 6, 7],
      ["outbox", 3, 4],
    ]);
    expect(await upgradePostgres(url, { dryRun: false })).toEqual([]);
    await expectOldPostgres(url);
  });

  test.skipIf(!postgres.available)(
    "PostgreSQL: an administrator runs the printed statements, even twice",
    async () => {
      const url = await postgres.freshUrl();
      await restorePostgres(commit, url);
      const planned = await upgradePostgres(url, { dryRun: true });
      const sql = planned.flatMap((upgrade) => upgrade.sql).join("\n");
      await queryPostgres(url, sql);
      await queryPostgres(url, sql);
      await expectOldPostgres(url);
    },
  );

  async function expectOldPostgres(url: string): Promise<void> {
    const on = ports();
    const ledger = await createPostgresLedger(on, { url });
    const outbox = await createPostgresOutbox(on, { url });
    await expectOldRecords(ledger, on.clock);
    await expectOldRows(outbox, on.clock);
    await ledger.close();
    await outbox.close();
  }

  test.skipIf(!dynamo.available)("DynamoDB: a command upgrades each table", async () => {
    const { table: prefix, requestMsMax: _, ...connection } = dynamo.freshOptions();
    const at = (table: "ledger" | "outbox") => ({ ...connection, table: `${prefix}-${table}` });
    await restoreDynamo(commit, connection, (table) => `${prefix}-${table}`);
    const opening = createDynamoLedger(ports(), at("ledger"));
    await expect(opening).rejects.toMatchObject(OUTDATED);
    await expect(createDynamoOutbox(ports(), at("outbox"))).rejects.toMatchObject(OUTDATED);
    for (const table of ["ledger", "outbox"] as const) {
      const planned = await upgradeDynamo(at(table), { dryRun: true });
      expect(planned).toMatchObject([{ part: table }]);
      expect(await upgradeDynamo(at(table), { dryRun: false })).toEqual(planned);
      expect(await upgradeDynamo(at(table), { dryRun: false })).toEqual([]);
    }
    const on = ports();
    const ledger = await createDynamoLedger(on, at("ledger"));
    const outbox = await createDynamoOutbox(on, at("outbox"));
    await expectOldRecords(ledger, on.clock);
    await expectOldRows(outbox, on.clock);
    await ledger.close();
    await outbox.close();
  });
});

test("a file of a newer release names the command that restores the backup", async () => {
  const path = join(folder, "newer's.db");
  restoreSqlite("4f49d010", path);
  const clock = clockAfter();
  await createSqliteLedger({ ...systemPorts, clock }, { path }).close();
  const upgraded = { part: "ledger", version: 9 };
  const backup = `${path}.ledger-8.backup`;
  copyFileSync(path, backup);
  const { DatabaseSync } = await import("node:sqlite");
  const db = new DatabaseSync(path);
  db.prepare("UPDATE tidegate_schema SET version = ? WHERE part = ?").run(
    upgraded.version,
    upgraded.part,
  );
  db.prepare("UPDATE tidegate_schema_limits SET readers_from = 9, writers_from = 9").run();
  db.close();
  const open = () => createSqliteLedger({ ...systemPorts, clock }, { path });
  let message = "";
  try {
    open();
  } catch (error) {
    message = (error as Error).message;
  }
  const [, command = ""] = /then run: (.*)$/.exec(message) ?? [];
  execFileSync("sh", ["-c", command]);
  const ledger = open();
  await expectOldRecords(ledger, clock);
  await ledger.close();
});
