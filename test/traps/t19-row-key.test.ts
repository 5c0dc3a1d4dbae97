import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { TableSinkSpec } from "../../src/core/table-spec.ts";
import { durationMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { SinkRow } from "../../src/ports/sink.ts";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { SCOPE, T0 } from "../support/traps/ledgers.ts";

const folder = useTemporaryFolder("trap");

const SPEC: TableSinkSpec = {
  kind: "tables",
  tables: {
    orders: { columns: { id: "text", total: "real", note: "text" }, key: ["id"] },
  },
  database: null,
  onReplaced: "delete",
};

/** Commits rows of an object's versions, one by one, and returns the table's content. */
async function commitVersions(name: string, versions: readonly (readonly SinkRow[])[]) {
  const path = join(folder, `${name}.db`);
  const clock = createManualClock(T0);
  const ledger = createSqliteLedger({ clock, turn }, { path });
  const sink = createTableSink(SPEC, { dialect: "sqlite", path });
  await sink.prepare();
  const auditing = new DatabaseSync(path);
  auditing.exec(`CREATE TABLE audit (id TEXT);
    CREATE TRIGGER auditing AFTER UPDATE ON orders BEGIN INSERT INTO audit VALUES (new.id); END`);
  auditing.close();
  for (const [index, rows] of versions.entries()) {
    clock.advance(durationMs(1));
    const key = asRecordKey(`k${index}`);
    const object = { bucket: "b", key: "orders.csv", sequencer: `${index + 1}`, removed: false };
    const effects = rows.map((row) => ({ kind: "upsert", table: "orders", row }) as const);
    const writes = sink.plan(effects, { key, object, eventTime: clock.now() });
    const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
    const commit = { key, object, writes, digest: "d", owner: "w", ...times };
    const [result] = await ledger.commitDirect(SCOPE, [commit]);
    expect(result).toMatchObject({ kind: "committed" });
  }
  await ledger.close();
  const db = new DatabaseSync(path);
  const all = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  const rows = {
    rows: all("SELECT * FROM orders ORDER BY id"),
    stored: all("SELECT id FROM _tg_orders ORDER BY id"),
    updated: all("SELECT id FROM audit"),
  };
  db.close();
  return rows;
}

test("T19: a corrected row replaces the wrong one instead of being added to it", async () => {
  const { rows, stored } = await commitVersions("corrected", [
    [{ id: "1", total: 10 }],
    [{ id: "1", total: 12 }],
  ]);
  expect(rows).toEqual([{ id: "1", total: 12, note: null }]);
  expect(stored).toEqual([{ id: "1" }]);
});

test("T19: a byte that differs in every run does not make a second row", async () => {
  const run = (at: number): SinkRow => ({ id: "1", total: 10, note: `loaded at ${at}` });
  const { rows } = await commitVersions("volatile", [[run(1)], [run(2)], [run(3)]]);
  expect(rows).toEqual([run(3)]);
});

test("T19: a row with the same values saves only a write that would change nothing", async () => {
  const { updated } = await commitVersions("equal", [
    [
      { id: "1", total: 10 },
      { id: "2", total: 20 },
    ],
    [
      { id: "2", total: 21 },
      { total: 10, id: "1", note: null },
    ],
  ]);
  expect(updated).toEqual([{ id: "2" }]);
});
