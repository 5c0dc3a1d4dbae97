// Bad input for tables: each title is a row of docs/reference/bad-input.md.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TablesSpec } from "../../../src/core/table-spec.ts";
import type { Effect, SinkRow } from "../../../src/ports/sink.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import { turn } from "../../support/stores/real-ports.ts";
import { openSink, openWorld, specOf } from "../../support/stores/table-sink-world.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("bad-tables");
const CREATED = {
  t: { columns: { id: "text", price: "decimal(6,2)", at: "timestamp" }, key: ["id"] },
} as const;
const EXISTING = { orders: { existing: true, key: ["id"] } } as const;
let files = 0;

function database(setup = "") {
  files += 1;
  const path = join(folder, `${files}.db`);
  const query = async (sql: string) => {
    const db = new DatabaseSync(path);
    try {
      const rows = db.prepare(sql).all();
      return rows.map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  };
  const db = new DatabaseSync(path);
  db.exec(setup);
  db.close();
  const address = { dialect: "sqlite", path } as const;
  return {
    address,
    query,
    openLedger: async (clock: Parameters<typeof createSqliteLedger>[0]["clock"]) =>
      createSqliteLedger({ clock, turn }, { path }),
  };
}

/** Delivers one good and one bad row; both are rejected, permanently, with the reason. */
async function refuses(tables: TablesSpec, setup: string, rows: SinkRow[], why: RegExp) {
  const world = await openWorld("claimed", specOf(tables), database(setup));
  const [table = ""] = Object.keys(tables);
  const effects = rows.map((row): Effect => ({ kind: "upsert", table, row }));
  const delivering = world.deliver({ key: "k", at: 1, effects });
  await expect(delivering).rejects.toMatchObject({
    code: "TG_SINK_REFUSED",
    retry: "never",
    message: expect.stringMatching(why),
  });
  expect(await world.query(`SELECT * FROM ${table}`)).toEqual([]);
  await world.close();
}

async function failsToStart(setup: string, tables: TablesSpec, why: RegExp) {
  const sink = openSink("claimed", specOf(tables), database(setup).address);
  const refusal = { code: "TG_CONFIG_INVALID", message: expect.stringMatching(why) };
  await expect(sink.prepare()).rejects.toMatchObject(refusal);
  await sink.close();
}

test("an existing table without a unique index on its key: the pipeline does not start, and names the index to create", async () => {
  const why = /orders has no unique index on \(id\); run CREATE UNIQUE INDEX ON orders \(id\)/;
  await failsToStart("CREATE TABLE orders (id TEXT, v REAL)", EXISTING, why);
});

test("an existing table without a column of the pipeline: the pipeline does not start, and names the column", async () => {
  const tables = { orders: { existing: true, key: ["id"], columns: ["id", "tax"] } } as const;
  await failsToStart(
    "CREATE TABLE orders (id TEXT PRIMARY KEY)",
    tables,
    /orders has no column tax/,
  );
});

test("a trigger that raises an error: dead-lettered immediately, and nothing of the record is written", async () => {
  const setup = `CREATE TABLE orders (id TEXT PRIMARY KEY, v REAL);
    CREATE TRIGGER picky BEFORE INSERT ON orders WHEN new.v < 0
    BEGIN SELECT RAISE(ABORT, 'negative'); END`;
  await refuses(
    EXISTING,
    setup,
    [
      { id: "a", v: 1 },
      { id: "b", v: -1 },
    ],
    /negative/,
  );
});

test("a row that violates a foreign key: dead-lettered immediately, and nothing of the record is written", async () => {
  const setup = `CREATE TABLE customers (name TEXT PRIMARY KEY);
    CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT REFERENCES customers (name))`;
  const rows = [
    { id: "a", customer: null },
    { id: "b", customer: "unknown" },
  ];
  await refuses(EXISTING, setup, rows, /FOREIGN KEY/);
});

test("a decimal with too many digits: dead-lettered immediately, never rounded", async () => {
  const rows = [
    { id: "a", price: "1.10" },
    { id: "b", price: "1.105" },
  ];
  await refuses(CREATED, "", rows, /row 2 of table t: column price is 1.105, .* 2 digits after/);
});

test("a timestamp without a time zone: dead-lettered immediately, never guessed", async () => {
  const rows = [{ id: "a", at: "2026-02-28T09:30:00" }];
  await refuses(CREATED, "", rows, /column at is "2026-02-28T09:30:00", which is not .* offset/);
});

test("tables of an earlier design: the pipeline does not start, and names what to drop", async () => {
  const setup = "CREATE TABLE tidegate_sink_objects (table_name TEXT, object TEXT)";
  await failsToStart(setup, CREATED, /earlier version .* drop the view t, the table _tg_t/);
});
