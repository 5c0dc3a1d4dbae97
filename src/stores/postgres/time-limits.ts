// Time limits: timeouts of statements. A dead peer or a lost connection sends nothing, and TCP
// alone would wait for many minutes.
//   L1. A statement that times out has an unknown outcome: the server may still run it. The store
//       reports itself unavailable, never a rejection and never success.
//   L2. Its connection is closed and not used again, as a late answer would be taken for the next
//       one.
//   L3. The client enforces the limit, as a silent server does not. The server has limits as well
//       (sql/sql-limits.ts), which end a statement on the server, too.

import type { Pool, QueryConfig } from "pg";
import { type DurationMs, durationMs, minutes, seconds } from "../../core/units.ts";
import { type SqlLimits, sqlLimits } from "./sql/sql-limits.ts";

/**
 * For statements that deliveries wait for; shorter than a lease, so that it can still be renewed.
 */
export const STATEMENT_MS_MAX: DurationMs = seconds(15);

/** For upkeep and upgrades, which may read whole tables or wait for another process. */
export const UPKEEP_MS_MAX: DurationMs = minutes(10);

/** TCP keep-alive probes start after this much silence and detect a dead peer between calls. */
const KEEP_ALIVE_MS = 10_000;

/** Options of a pool with which every statement ends. */
export function timeLimits(statementMsMax: DurationMs) {
  const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };
  return { query_timeout: statementMsMax, ...keepAlive };
}

/** What the pool of a store has beside the options of the driver. */
export interface FencedPool {
  /** An expression of sql/schema-fence.ts. */
  readonly fence?: string | undefined;
}

function fenceOf(pool: Pool): string | undefined {
  return (pool.options as FencedPool).fence;
}

/** The server's limits for statements that deliveries wait for, and the fence of the pool. */
export function limitsOf(pool: Pool): SqlLimits {
  const limits = sqlLimits(durationMs(pool.options.query_timeout ?? STATEMENT_MS_MAX));
  return { ...limits, fence: fenceOf(pool) };
}

/** The number of a parameter in a write, where the fence of the pool is evaluated, too. */
export function fencedParameter(pool: Pool, parameter: string): string {
  const fence = fenceOf(pool);
  return fence === undefined ? parameter : `coalesce(${fence}, ${parameter})`;
}

/** A statement of upkeep or of an upgrade, with the longer timeout. */
export function upkeep(text: string, values: unknown[] = []): QueryConfig {
  // The driver accepts a timeout per statement, which its types omit.
  const limited: QueryConfig & { readonly query_timeout: number } = {
    text,
    values,
    query_timeout: UPKEEP_MS_MAX,
  };
  return limited;
}

/** Parts of a statement: a common table expression and its name in the list of sources. */
export interface LockLimit {
  readonly with: string;
  readonly from: string;
  /** Ends the name of a prepared statement. */
  readonly suffix: string;
}

/**
 * Limits the lock waits of a statement that is its own transaction, without a further round trip.
 * Every row passes through the join with it, so it takes effect before the first row is locked.
 * The setting ends with the statement (W1 of sql/sql-limits.ts).
 */
export function ownLockLimit(pool: Pool): LockLimit {
  const lockMs = fencedParameter(pool, String(limitsOf(pool).lockMs));
  const set = `SELECT set_config('lock_timeout', (${lockMs})::text, true)`;
  return { with: `WITH lock_limit AS MATERIALIZED (${set})`, from: "lock_limit,", suffix: "" };
}

/** For a statement within a transaction, whose BEGIN has set the limits. */
export const LIMITED_BY_BEGIN: LockLimit = { with: "", from: "", suffix: "-within" };
