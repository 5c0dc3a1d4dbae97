// Memory tables: the table sink on a SQLite database in memory, for test pipelines.
//   Y1. Tables, statements and checks are those of the SQLite sink; only the file is missing.
//   Y2. The writes of one commit are one transaction.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { TidegateError } from "../../core/errors.ts";
import {
  runSinkWrites,
  type SinkValue,
  type SinkWrite,
  sinkParams,
} from "../../core/sink-write.ts";
import {
  type ColumnType,
  type TableSinkSpec,
  type TableSpec,
  tableProblems,
} from "../../core/table-spec.ts";
import type { SinkStore, TableRow, TransactionalSink } from "../../ports/sink.ts";
import type { SinkDatabase } from "./databases/database.ts";
import { SQLITE } from "./databases/dialect.ts";
import { makeSqliteTables, sqliteFault, sqliteRunner } from "./databases/sqlite-database.ts";
import { quotedName } from "./names.ts";
import { createPlans, type TablePlans } from "./plan.ts";
import { createTableStage } from "./stage.ts";
import { sweepTableStages } from "./stage-removal.ts";

export interface MemoryTables {
  /** The sink, for a ledger whose commits call `run`. */
  readonly sink: TransactionalSink;
  /** Runs the writes of one commit (Y2). */
  run(writes: readonly SinkWrite[], record: { readonly fence: number }): void;
  /** For a ledger whose sink works outside of commits. */
  readonly store: SinkStore;
  /** The rows of a table, in the order of its key. */
  rows(table: string): TableRow[];
  /** A sink on other tables of the same database, such as those of a shadow. */
  sinkOf(spec: TableSinkSpec): TransactionalSink;
  /** The database itself; closing it here does nothing. */
  readonly database: SinkDatabase;
  /** The rows of one statement, immediately. */
  select(statement: string, params: readonly SinkValue[]): Readonly<Record<string, unknown>>[];
}

export function createMemoryTables(spec: TableSinkSpec): MemoryTables {
  const [problem] = tableProblems(spec);
  if (problem !== undefined) throw new TidegateError("TG_CONFIG_INVALID", problem);
  const db = new DatabaseSync(":memory:");
  const statements = new Map<string, StatementSync>();
  const prepared = ({ statement: text, once }: SinkWrite): StatementSync => {
    const statement = statements.get(text) ?? db.prepare(text);
    if (once !== true) statements.set(text, statement);
    return statement;
  };
  const run: MemoryTables["run"] = (writes, { fence }) => {
    db.exec("BEGIN");
    try {
      runSinkWrites(writes, fence, sqliteRunner(prepared));
      db.exec("COMMIT");
    } catch (error) {
      db.exec("ROLLBACK");
      throw sqliteFault(error, ":memory:");
    }
  };
  const store: SinkStore = {
    run: async (writes) => run(writes, { fence: 0 }),
    read: async (write) => db.prepare(write.statement).all(...sinkParams(write, 0)),
  };
  return {
    sink: {
      ...createMemorySink(db, spec),
      async close() {
        if (db.isOpen) db.close();
      },
    },
    sinkOf: (of) => createMemorySink(db, of),
    select: (statement, params) => prepared({ statement, params: [] }).all(...params),
    run,
    store,
    database: {
      prepare: async (tables) => makeSqliteTables(db, tables),
      transact: async (writes, _signal, fence = 0) => run(writes, { fence }),
      read: store.read,
      close: async () => undefined,
    },
    rows(table) {
      const columns = spec.tables[table];
      if (columns === undefined) throw unknownTable(table, spec);
      const order = columns.key.map(quotedName).join(", ");
      const rows = db.prepare(`SELECT * FROM ${quotedName(table)} ORDER BY ${order}`).all();
      return rows.map((row) => shown(row as TableRow, columns));
    },
  };
}

function createMemorySink(db: DatabaseSync, spec: TableSinkSpec): TransactionalSink {
  let plans: TablePlans = createPlans(spec, SQLITE, new Map());
  return {
    mode: "transactional",
    dialect: "sqlite",
    async prepare() {
      plans = createPlans(spec, SQLITE, makeSqliteTables(db, spec.tables)); // Y1
    },
    plan: (effects, origin) => plans.plan(effects, origin),
    stage: (request, store) => ({
      mode: "transactional",
      ...createTableStage(SQLITE, plans, store, request),
    }),
    sweepStages: (store, now) => sweepTableStages(SQLITE, store, now),
    close: async () => undefined,
  };
}

/** SQLite has no booleans. */
function shown(row: TableRow, { columns = {} }: TableSpec): TableRow {
  const types = Array.isArray(columns) ? {} : (columns as Readonly<Record<string, ColumnType>>);
  const entries = Object.entries(row).map(([name, value]): [string, TableRow[string]] => {
    return [name, types[name] === "boolean" && value !== null ? value === 1 : value];
  });
  return Object.fromEntries(entries);
}

function unknownTable(table: string, { tables }: TableSinkSpec): TidegateError {
  const names = Object.keys(tables).join(", ");
  const message = `unknown table ${JSON.stringify(table)}; the pipeline has ${names}`;
  return new TidegateError("TG_VALUE_INVALID", message);
}
