// Opening a database: the connections of a ledger or an outbox, once its tables are there.

import pg from "pg";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../core/store-guard.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface DatabaseOptions extends Omit<GuardedStore, "release"> {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly connectionsMax: number;
}

export interface Database extends StoreGuard {
  readonly pool: pg.Pool;
}

/** A database that `prepare` has found, or made, ready; else a failure, and nothing left open. */
export async function openDatabase(
  { url, connectionsMax, name, faultOf }: DatabaseOptions,
  prepare: (pool: pg.Pool) => Promise<void>,
): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: "tidegate",
  });
  // An idle connection that breaks leaves the pool; the next call opens another or tells why not.
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
