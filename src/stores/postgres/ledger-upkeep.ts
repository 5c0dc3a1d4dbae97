// Ledger upkeep: counts and purges a PostgreSQL ledger.

import type { Pool } from "pg";
import { scopeStatsOf } from "../../ledger/scope-stats.ts";
import { leapProblems } from "../../ledger/store-time.ts";
import type { ScopeStats } from "../../ports/ledger.ts";
import type { ServerTime } from "./server-time.ts";
import { fencedParameter, upkeep } from "./time-limits.ts";

export interface PostgresUpkeepParts {
  readonly pool: Pool;
  readonly server: ServerTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

const STATS = `
  SELECT pipeline, generation, coalesce(o.objects, 0) AS objects,
    coalesce(claimed, 0) AS claimed, coalesce(released, 0) AS released,
    coalesce(failed, 0) AS failed, coalesce(committed, 0) AS committed,
    coalesce(parked, 0) AS parked
  FROM tidegate_ledger_scope AS s
  LEFT JOIN (
    SELECT scope,
      count(*) FILTER (WHERE state = 'claimed') AS claimed,
      count(*) FILTER (WHERE state = 'released') AS released,
      count(*) FILTER (WHERE state = 'failed') AS failed,
      count(*) FILTER (WHERE state = 'committed') AS committed,
      count(*) FILTER (WHERE state = 'parked') AS parked
    FROM tidegate_ledger_record WHERE expires_at > $1 GROUP BY scope
  ) AS r ON r.scope = s.id
  LEFT JOIN (
    SELECT scope, count(*) AS objects
    FROM tidegate_ledger_object WHERE expires_at > $1 GROUP BY scope
  ) AS o ON o.scope = s.id
  WHERE r.scope IS NOT NULL OR o.scope IS NOT NULL
  ORDER BY pipeline, generation`;

const DURABILITY = `
  SELECT name, setting FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name`;

const TABLES = [
  "tidegate_ledger_record",
  "tidegate_ledger_object",
  "tidegate_ledger_note",
  "tidegate_ledger_run",
];

/** Deletes expired rows of a table and skips rows that others have locked. */
function purgeSql(pool: Pool, table: string): string {
  return `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${table} WHERE expires_at <= ${fencedParameter(pool, "$1")}
    LIMIT $2 FOR UPDATE SKIP LOCKED))`;
}

export function createPostgresUpkeep({ pool, server, guard }: PostgresUpkeepParts) {
  return {
    check: (): Promise<string[]> =>
      guard(async () => {
        const { rows } = await pool.query(DURABILITY);
        await server.read();
        const leaps = leapProblems(server.time.leap());
        const settings = rows
          .filter(({ setting }) => setting === "off" || setting === "local")
          .map(
            ({ name, setting }) => `${name} is ${setting}; a crash may lose acknowledged writes.`,
          );
        return [...settings, ...leaps];
      }),
    stats: (): Promise<ScopeStats[]> =>
      guard(async () => {
        const { rows } = await pool.query(upkeep(STATS, [(await server.read()).expiry]));
        return rows.map(scopeStatsOf);
      }),
    purge: (limit: number): Promise<number> =>
      guard(async () => {
        const { expiry } = await server.readToWrite();
        let purged = 0;
        for (const table of TABLES) {
          const expired = upkeep(purgeSql(pool, table), [expiry, limit - purged]);
          purged += (await pool.query(expired)).rowCount ?? 0;
        }
        return purged;
      }),
    leap: () => server.time.leap(),
  };
}
