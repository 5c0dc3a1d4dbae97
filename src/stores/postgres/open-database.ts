// Open database: connects a ledger or an outbox to its tables.

import pg from "pg";
import type { DurationMs } from "../../core/units.ts";
import type { SupportedSchema } from "../../ledger/schema-version.ts";
import { createStoreGuard, type GuardedStore, type StoreGuard } from "../../ledger/store-guard.ts";
import { fenceSql } from "./sql/schema-fence.ts";
import { type FencedPool, STATEMENT_MS_MAX, timeLimits } from "./time-limits.ts";

const CONNECT_TIMEOUT_MS = 10_000;

export interface DatabaseOptions extends Omit<GuardedStore, "release"> {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly connectionsMax: number;
  /** Timeout of a statement, except upkeep and upgrades. */
  readonly statementMsMax?: DurationMs | undefined;
  /** Fails writes after an upgrade beyond this schema. */
  readonly fencedBy?: Pick<SupportedSchema, "part" | "version"> | undefined;
}

export interface Database extends StoreGuard {
  readonly pool: pg.Pool;
}

/** Opens a database that `prepare` has checked or created. If that fails, nothing stays open. */
export async function openDatabase(
  options: DatabaseOptions,
  prepare: (pool: pg.Pool) => Promise<void>,
): Promise<Database> {
  const { url, connectionsMax, statementMsMax = STATEMENT_MS_MAX, name, faultOf } = options;
  const { fencedBy } = options;
  const config: pg.PoolConfig & FencedPool = {
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...timeLimits(statementMsMax),
    application_name: "tidegate",
    fence: fencedBy === undefined ? undefined : fenceSql(fencedBy),
  };
  const pool = new pg.Pool(config);
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
