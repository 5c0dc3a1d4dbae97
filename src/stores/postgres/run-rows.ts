// Run rows: runs in their table, by the rule of ledger/runs.ts, under a lock of the row.

import type { Pool, PoolClient } from "pg";
import type { DurationMs } from "../../core/units.ts";
import { fromRunColumns, mergeRun, type RunStore } from "../../ledger/runs.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { RunRow } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { ServerTime } from "./server-time.ts";
import { retryBusy } from "./sql/sql-limits.ts";
import { CONFLICT, inPostgresTransaction, type OrConflict } from "./transaction.ts";

export interface PostgresRunParts {
  readonly pool: Pool;
  readonly server: ServerTime;
  readonly retentionMs: DurationMs;
  scopeIdOf(scope: LedgerScope): Promise<number>;
  guard<T>(work: () => Promise<T>): Promise<T>;
}

const COLUMNS = `id, kind, started_at, ended_at, seen_at, code_digest, config_digest, environment,
  parameters, counts, expires_at`;
const SELECT = `SELECT ${COLUMNS} FROM tidegate_ledger_run WHERE scope = $1`;
const INSERT = `INSERT INTO tidegate_ledger_run (scope, ${COLUMNS})
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`;
/** Not the start, which never changes: the row stays in its place in the index. */
const UPDATE = `UPDATE tidegate_ledger_run SET kind = $3, ended_at = $4, seen_at = $5,
    code_digest = $6, config_digest = $7, environment = $8, parameters = $9, counts = $10,
    expires_at = $11
  WHERE scope = $1 AND id = $2`;

export function createPostgresRunStore(parts: PostgresRunParts): RunStore {
  const { pool, server, retentionMs, scopeIdOf, guard } = parts;
  return {
    put: (scope, run) =>
      guard(async () => {
        const scopeId = await scopeIdOf(scope);
        const at = { ...(await server.readToWrite()), retentionMs };
        const work = (client: PoolClient) => putRun(client, scopeId, run, at);
        await retryBusy(() => inPostgresTransaction(pool, "run", work));
      }),
    find: (scope, id) =>
      guard(async () => {
        const { rows } = await pool.query(`${SELECT} AND id = $2`, [await scopeIdOf(scope), id]);
        return rows[0] === undefined ? null : fromRunColumns(rows[0]);
      }),
    list: (scope, { start, limit }) =>
      guard(async () => {
        const before = start === null ? "" : "AND (started_at, id) < ($3, $4)";
        const text = `${SELECT} ${before} ORDER BY started_at DESC, id DESC LIMIT $2`;
        const position = start === null ? [] : [start.startedAt, start.id];
        const { rows } = await pool.query(text, [await scopeIdOf(scope), limit, ...position]);
        return rows.map(fromRunColumns);
      }),
  };
}

/** Conflict: another process inserted the row since it was read. */
async function putRun(
  client: PoolClient,
  scopeId: number,
  run: RunRow,
  at: LedgerInstant & { readonly retentionMs: DurationMs },
): Promise<OrConflict<void>> {
  const { rows } = await client.query(`${SELECT} AND id = $2 FOR UPDATE`, [scopeId, run.id]);
  const stored = rows[0] === undefined ? null : fromRunColumns(rows[0]);
  const merged = mergeRun(stored, run, at);
  const { id, kind, startedAt, endedAt, seenAt, codeDigest, configDigest } = merged;
  const { environment, parameters, counts, expiresAt } = merged;
  const details = [codeDigest, configDigest, environment, parameters, counts, expiresAt];
  if (stored !== null && stored.startedAt === startedAt) {
    await client.query(UPDATE, [scopeId, id, kind, endedAt, seenAt, ...details]);
    return;
  }
  if (stored !== null) {
    // An expired run of the same id: it starts again.
    await client.query("DELETE FROM tidegate_ledger_run WHERE scope = $1 AND id = $2", [
      scopeId,
      id,
    ]);
  }
  const values = [scopeId, id, kind, startedAt, endedAt, seenAt, ...details];
  const { rowCount } = await client.query(INSERT, values);
  if (rowCount !== 1) return CONFLICT;
}
