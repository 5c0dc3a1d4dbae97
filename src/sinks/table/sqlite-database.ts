// SQLite database of a sink.
//   D1. Answered writes are durable: write-ahead log, one sync per transaction.
//   D2. A transaction runs within one turn of the event loop, so two never interleave on the
//       connection. BEGIN IMMEDIATE keeps other processes out from its first statement.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";
import type { TablesSpec } from "../../core/table-spec.ts";
import { isBusy, isCorrupt, isUnavailable, sqliteCode } from "../../ledger/sqlite-code.ts";
import type { BoundWrite, SinkDatabase } from "./database.ts";
import { SQLITE } from "./dialect.ts";
import { type ExistingColumn, layoutSteps, type Relation } from "./layout.ts";

/** The wait for another process blocks the event loop, so it must stay well under any lease. */
const BUSY_MS = 5_000;

export function openSqliteDatabase(path: string): SinkDatabase {
  const db = guarded(path, () => openFile(path));
  // A sink has a few statements per table, so none is ever evicted.
  const statements = new Map<string, StatementSync>();
  const prepared = (text: string): StatementSync => {
    const statement = statements.get(text) ?? db.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  return {
    async prepare(tables) {
      guarded(path, () => inTransaction(db, () => makeSqliteTables(db, tables)));
    },
    async transact(writes: readonly BoundWrite[], signal: AbortSignal) {
      signal.throwIfAborted();
      guarded(path, () =>
        inTransaction(db, () => {
          for (const { statement, params } of writes) prepared(statement).run(...params);
        }),
      );
    },
    async close() {
      if (db.isOpen) db.close();
    },
  };
}

function openFile(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // D1
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** D2 */
function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    work();
    db.exec("COMMIT");
  } catch (error) {
    // SQLite may have rolled back by itself, for example after a full disk.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

export function makeSqliteTables(db: DatabaseSync, tables: TablesSpec): void {
  for (const step of layoutSteps(SQLITE, tables, (name) => describe(db, name))) db.exec(step);
}

function describe(db: DatabaseSync, name: string): Relation | null {
  const entry = db
    .prepare("SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE")
    .get(name);
  if (entry === undefined) return null;
  const kind = entry.type === "table" || entry.type === "view" ? entry.type : "other";
  const columns = db
    .prepare("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid")
    .all(name)
    .map((row): ExistingColumn => {
      return { name: String(row.name), type: String(row.type), keyPosition: Number(row.pk) };
    });
  return { kind, columns };
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
  if (sqliteCode(error) === null) return error;
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
