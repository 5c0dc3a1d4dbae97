// Open database: connects a ledger or an outbox to its tables.

import pg from "pg";
import type { DurationMs } from "../../core/units.ts";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../ledger/store-guard.ts";
import { STATEMENT_MS_MAX, timeLimits } from "./time-limits.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface DatabaseOptions extends Omit<GuardedStore, "release"> {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly connectionsMax: number;
  /** Timeout of a statement, except upkeep and migrations. */
  readonly statementMsMax?: DurationMs | undefined;
}

export interface Database extends StoreGuard {
  readonly pool: pg.Pool;
}

/** Opens a database that `prepare` has checked or migrated. If that fails, nothing stays open. */
export async function openDatabase(
  { url, connectionsMax, statementMsMax = STATEMENT_MS_MAX, name, faultOf }: DatabaseOptions,
  prepare: (pool: pg.Pool) => Promise<void>,
): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...timeLimits(statementMsMax),
    application_name: "tidegate",
  });
  // An idle connection that breaks leaves the pool; the next call opens another or reports the
  // error. The pool does not watch a connection that is checked out: see T2 of transaction.ts.
  pool.on("error", () => {});
  const { guard, close } = createStoreGuard({ name, faultOf, release: () => pool.end() });
  try {
    await guard(() => prepare(pool));
    return { pool, guard, close };
  } catch (error) {
    await close();
    throw error;
  }
}
