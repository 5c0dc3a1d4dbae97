import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { runSinkWrites } from "../../core/sink-write.ts";
import type { TableSinkSpec } from "../../core/table-spec.ts";
import { epochMs } from "../../core/units.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import { databaseAddress } from "./databases/database.ts";
import { SQLITE } from "./databases/dialect.ts";
import { sqliteRunner } from "./databases/sqlite-database.ts";
import { layoutOf } from "./layout.ts";
import { createPlans } from "./plan.ts";
import { createIdempotentTableSink, createTableSink } from "./table-sink.ts";

const HOSTILE = `x"; DROP TABLE victim; --`;

function specOf(table: string, column: string, database: string | null = null): TableSinkSpec {
  const tables = { [table]: { columns: { [column]: "text", v: "real" }, key: [column] } } as const;
  return { kind: "tables", tables, database, onReplaced: "delete" };
}

describe("hostile names", () => {
  test.each([specOf(HOSTILE, "id"), specOf("t", HOSTILE)])(
    "are rejected immediately: %#",
    (spec) => {
      const refused = expect.objectContaining({ code: "TG_CONFIG_INVALID" });
      expect(() => createTableSink(spec, { dialect: "sqlite", path: "x.db" })).toThrow(refused);
      expect(() => createIdempotentTableSink({ ...spec, database: "x.db" })).toThrow(refused);
    },
  );

  test("would be quoted correctly even without the check", () => {
    const db = new DatabaseSync(":memory:");
    db.exec("CREATE TABLE victim (id TEXT)");
    const spec = specOf(HOSTILE, `${HOSTILE} '`);
    const { steps, shapes } = layoutOf(SQLITE, spec.tables, () => null);
    for (const step of steps) db.exec(step);
    const row = { [`${HOSTILE} '`]: "a", v: 1 };
    const object = { bucket: "b'", key: HOSTILE, sequencer: "1", removed: false };
    const origin = { key: asRecordKey("k'"), object, eventTime: epochMs(1) };
    const { plan } = createPlans(spec, SQLITE, shapes);
    const writes = plan([{ kind: "upsert", table: HOSTILE, row }], origin);
    runSinkWrites(
      writes,
      fenceOf(1),
      sqliteRunner(({ statement }) => db.prepare(statement)),
    );
    const view = `"${HOSTILE.replaceAll('"', '""')}"`;
    expect({ ...db.prepare(`SELECT * FROM ${view}`).get() }).toEqual(row);
    expect(db.prepare("SELECT * FROM victim").all()).toEqual([]);
    db.close();
  });
});

test("tables outside the ledger's database need a separate one", () => {
  const refused = expect.objectContaining({ code: "TG_CONFIG_INVALID" });
  expect(() => createIdempotentTableSink(specOf("t", "id"))).toThrow(refused);
});

test.each([
  ["postgres://host/db", { dialect: "postgres", url: "postgres://host/db" }],
  ["postgresql://host/db", { dialect: "postgres", url: "postgresql://host/db" }],
  ["rows/of orders.db", { dialect: "sqlite", path: "rows/of orders.db" }],
])("%s is the address of a database", (text, address) => {
  expect(databaseAddress(text)).toEqual(address);
});
