// SQLite database of a sink.
//   D1. Answered writes are durable: write-ahead log, one sync per transaction.
//   D2. A transaction runs within one turn of the event loop, so two never interleave on the
//       connection. BEGIN IMMEDIATE keeps other processes out from its first statement.
//   D3. As in the ledger: the log of an earlier process is renewed first, and so is the file after
//       a failure, with the next call (healing.ts).

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type ErrorCode, reasonOf, TidegateError } from "../../../core/errors.ts";
import {
  runSinkWrites,
  type SinkValue,
  type SinkWrite,
  sinkParams,
} from "../../../core/sink-write.ts";
import type { TablesSpec } from "../../../core/table-spec.ts";
import { Checkpoints } from "../../../stores/sqlite/checkpoints.ts";
import { createHealing, type OpenedStore } from "../../../stores/sqlite/healing.ts";
import { inSqliteTransaction } from "../../../stores/sqlite/ledger/transaction.ts";
import {
  createDatabase,
  creatingTables,
  openForWriting,
  orClosed,
} from "../../../stores/sqlite/open-file.ts";
import { renewShared } from "../../../stores/sqlite/renew-log.ts";
import {
  isBusy,
  isCorrupt,
  isUnavailable,
  sqliteCode,
} from "../../../stores/sqlite/sqlite-code.ts";
import { layoutOf } from "../layout.ts";
import type { ExistingColumn, Relation } from "../relation.ts";
import type { TableShape } from "../shape.ts";
import type { SinkDatabase } from "./database.ts";
import { SQLITE } from "./dialect.ts";

/** The wait for another process blocks the event loop, so it must stay well under any lease. */
const BUSY_MS = 5_000;

/** Pages in the write-ahead log before they are folded into the file. */
const CHECKPOINT_PAGES = 1_000;

export function openSqliteDatabase(path: string): SinkDatabase {
  return createHealing({
    open: () => guarded(path, () => openDatabase(path)),
    faultOf: (error) => sqliteFault(error, path),
    isReader: false,
    direct: [],
    fileless: [],
  });
}

function openDatabase(path: string): OpenedStore<SinkDatabase> {
  renewShared(path); // D3
  createDatabase(path, () => undefined);
  const db = openForWriting(path, BUSY_MS);
  return orClosed(db, path, () => {
    creatingTables(db, path, () => {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // D1
    });
    const checkpoints = new Checkpoints(db, { path, pages: CHECKPOINT_PAGES });
    return { store: databaseIn(db, checkpoints, path), failure: () => checkpoints.failure };
  });
}

function databaseIn(db: DatabaseSync, checkpoints: Checkpoints, path: string): SinkDatabase {
  // A sink has a few statements per table, so none is ever evicted.
  const statements = new Map<string, StatementSync>();
  const prepared = (text: string): StatementSync => {
    const statement = statements.get(text) ?? db.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  const write = <T>(work: () => T): T =>
    guarded(path, () => checkpoints.around(() => inSqliteTransaction(db, work))); // D2
  return {
    async prepare(tables) {
      return write(() => makeSqliteTables(db, tables));
    },
    async transact(writes: readonly SinkWrite[], signal: AbortSignal, fence = 0) {
      signal.throwIfAborted();
      const run = sqliteRunner((write) =>
        write.once === true ? db.prepare(write.statement) : prepared(write.statement),
      );
      write(() => runSinkWrites(writes, fence, run));
    },
    async read(write) {
      return guarded(path, () => db.prepare(write.statement).all(...sinkParams(write, 0)));
    },
    async close() {
      if (db.isOpen) checkpoints.close();
    },
  };
}

export function makeSqliteTables(
  db: DatabaseSync,
  tables: TablesSpec,
): ReadonlyMap<string, TableShape> {
  const { steps, shapes } = layoutOf(SQLITE, tables, (name) => describe(db, name));
  for (const step of steps) db.exec(step);
  return shapes;
}

/** Runs one write; true if it returned a row. */
export function sqliteRunner(prepared: (write: SinkWrite) => StatementSync) {
  return (write: SinkWrite, params: readonly SinkValue[]): boolean => {
    const statement = prepared(write);
    if (write.rows === undefined) return statement.get(...params) !== undefined;
    for (const row of write.rows) statement.run(...params, ...row);
    return false;
  };
}

function describe(db: DatabaseSync, name: string): Relation | null {
  const entry = db
    .prepare("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE")
    .get(name);
  if (entry === undefined) return null;
  const kind = entry.type === "table" || entry.type === "view" ? entry.type : "other";
  // Hidden columns 2 and 3 are generated.
  const columns = db
    .prepare("SELECT name, type, pk, dflt_value, hidden FROM pragma_table_xinfo(?) ORDER BY cid")
    .all(name)
    .map((row): ExistingColumn => {
      const generated = Number(row.hidden) >= 2;
      return {
        name: String(row.name),
        type: String(row.type),
        keyPosition: Number(row.pk),
        filled: generated || row.dflt_value !== null,
        generated,
      };
    });
  const primary = columns.filter(({ keyPosition }) => keyPosition > 0).map((one) => one.name);
  return {
    kind,
    columns,
    unique: [...(primary.length > 0 ? [primary] : []), ...uniqueOf(db, name)],
  };
}

function uniqueOf(db: DatabaseSync, table: string): string[][] {
  const indexes = db
    .prepare(`SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial`)
    .all(table);
  return indexes.flatMap((index) => {
    const columns = db
      .prepare("SELECT name FROM pragma_index_info(?) ORDER BY seqno")
      .all(String(index.name));
    // An expression has no name.
    return columns.some(({ name }) => name === null)
      ? []
      : [columns.map(({ name }) => String(name))];
  });
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteFault(error, path);
  }
}

/** The TidegateError of a sink for an error of the driver. */
export function sqliteFault(error: unknown, path: string): unknown {
  if (error instanceof TidegateError) return error;
  if (sqliteCode(error) === null && !isUnavailable(error)) return error;
  const faultWith = (verdict: ErrorCode, what: string) =>
    new TidegateError(verdict, `${what}: ${reasonOf(error)}`, { cause: error });
  if (isBusy(error)) {
    const what = `the sink's database ${path} is busy; another process holds its write lock`;
    return faultWith("TG_SINK_UNAVAILABLE", what);
  }
  if (isUnavailable(error)) {
    return faultWith("TG_SINK_UNAVAILABLE", `the sink's database ${path} cannot be used`);
  }
  if (isCorrupt(error)) {
    return faultWith(
      "TG_STORE_CORRUPT",
      `the sink's database ${path} is damaged or not a SQLite file`,
    );
  }
  return faultWith("TG_SINK_REFUSED", `the sink's database ${path} rejected a statement`);
}
