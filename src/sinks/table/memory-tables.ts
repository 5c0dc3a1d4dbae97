// Memory tables: the table sink on a SQLite database in memory, for test pipelines.
//   Y1. Tables, statements and checks are those of the SQLite sink; only the file is missing.
//   Y2. The writes of one commit are one transaction.

import { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../core/errors.ts";
import { type SinkWrite, sinkParams } from "../../core/sink-write.ts";
import { type TableSinkSpec, type TableSpec, tableProblems } from "../../core/table-spec.ts";
import type { ColumnValue, SinkRow, TransactionalSink } from "../../ports/sink.ts";
import { quotedName, SQLITE } from "./dialect.ts";
import { createPlan } from "./plan.ts";
import { makeSqliteTables, sqliteFault } from "./sqlite-database.ts";

export interface MemoryTables {
  /** The sink, for a ledger whose commits call `run`. */
  readonly sink: TransactionalSink;
  /** Runs the writes of one commit (Y2). */
  run(writes: readonly SinkWrite[], record: { readonly fence: number }): void;
  /** The rows of a table, in the order of its key. */
  rows(table: string): SinkRow[];
}

export function createMemoryTables(spec: TableSinkSpec): MemoryTables {
  const [problem] = tableProblems(spec);
  if (problem !== undefined) throw new TidegateError("TG_CONFIG_INVALID", problem);
  const db = new DatabaseSync(":memory:");
  return {
    sink: {
      mode: "transactional",
      dialect: "sqlite",
      prepare: async () => makeSqliteTables(db, spec.tables),
      plan: createPlan(spec, SQLITE), // Y1
      async close() {
        if (db.isOpen) db.close();
      },
    },
    run(writes, { fence }) {
      db.exec("BEGIN");
      try {
        for (const write of writes) db.prepare(write.statement).run(...sinkParams(write, fence));
        db.exec("COMMIT");
      } catch (error) {
        db.exec("ROLLBACK");
        throw sqliteFault(error, ":memory:");
      }
    },
    rows(table) {
      const columns = spec.tables[table];
      if (columns === undefined) throw unknownTable(table, spec);
      const order = columns.key.map(quotedName).join(", ");
      const rows = db.prepare(`SELECT * FROM ${quotedName(table)} ORDER BY ${order}`).all();
      return rows.map((row) => shown(row as SinkRow, columns));
    },
  };
}

/** SQLite has no booleans. */
function shown(row: SinkRow, { columns }: TableSpec): SinkRow {
  const entries = Object.entries(row).map(([name, value]): [string, ColumnValue] => {
    return [name, columns[name] === "boolean" && value !== null ? value === 1 : value];
  });
  return Object.fromEntries(entries);
}

function unknownTable(table: string, { tables }: TableSinkSpec): TidegateError {
  const names = Object.keys(tables).join(", ");
  const message = `unknown table ${JSON.stringify(table)}; the pipeline has ${names}`;
  return new TidegateError("TG_VALUE_INVALID", message);
}
