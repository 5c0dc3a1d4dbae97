// Batch rows: the statements on the tables of batches.
//   H1. A decision gets a batch that is locked, or one that was absent and is then inserted. If an
//       insert finds that another came first, the transaction is rolled back and run again.

import type { Pool, PoolClient } from "pg";
import type { EpochMs } from "../../core/units.ts";
import type { BatchDecision, BatchRows } from "../../ledger/outbox/batch-calls.ts";
import {
  fromBatchColumns,
  fromItemColumns,
  toBatchColumns,
} from "../../ledger/outbox/batch-columns.ts";
import type { LedgerInstant, LedgerTime } from "../../ledger/store-time.ts";
import type { JobBatch } from "../../ports/batches.ts";
import { fencedParameter, upkeep } from "./time-limits.ts";
import { CONFLICT, type OrConflict } from "./transaction.ts";

const FIND = "SELECT * FROM tidegate_batch WHERE target = $1 AND name = $2";
const INSERT = `INSERT INTO tidegate_batch VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (target, name) DO NOTHING`;
const UPDATE = `UPDATE tidegate_batch SET id = $3, item_count = $4, digest = $5, opened_at = $6,
  sealed_at = $7, completed_at = $8, expires_at = $9 WHERE target = $1 AND name = $2`;
const LIST = `SELECT * FROM tidegate_batch
  WHERE target = $1 AND name > $2 AND expires_at > $3 ORDER BY name LIMIT $4`;
/** Items of concurrent callers are locked in the same order, so that they never deadlock. */
const ADD = `INSERT INTO tidegate_batch_item
  SELECT $1, item.name, item.key, false, $4 FROM unnest($2::text[], $3::text[]) AS item (name, key)
  ORDER BY item.name COLLATE "C" ON CONFLICT (batch, name) DO NOTHING`;
const OPEN = `SELECT name, key FROM tidegate_batch_item
  WHERE batch = $1 AND NOT done AND name > $2 ORDER BY name LIMIT $3`;
const DONE = `WITH wanted AS (
    SELECT name FROM tidegate_batch_item
    WHERE batch = $1 AND NOT done AND name = ANY ($2::text[]) ORDER BY name FOR UPDATE
  )
  UPDATE tidegate_batch_item AS item SET done = true
  FROM wanted WHERE item.batch = $1 AND item.name = wanted.name`;
const COUNT_DONE = "SELECT count(*) AS n FROM tidegate_batch_item WHERE batch = $1 AND done";
const PURGE = `DELETE FROM tidegate_batch WHERE expires_at <= $1 AND (target, name) IN
  (SELECT target, name FROM tidegate_batch WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`;
const PURGE_ITEMS = `DELETE FROM tidegate_batch_item WHERE expires_at <= $1 AND (batch, name) IN
  (SELECT batch, name FROM tidegate_batch_item WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`;

export interface BatchDatabase {
  readonly pool: Pool;
  readonly time: LedgerTime;
  guard<T>(work: () => Promise<T>): Promise<T>;
  /** Runs the work in a transaction, again after a conflict. */
  write<T>(work: (client: PoolClient) => Promise<OrConflict<T>>): Promise<T>;
}

export function createPostgresBatchRows({ pool, time, guard, write }: BatchDatabase): BatchRows {
  const query = (sql: string, values: readonly unknown[]) =>
    guard(() => pool.query(sql, [...values]));
  return {
    time: () => time.read(),
    decide: (target, name, step) =>
      write((client) => decide(client, { target, name, at: time.read() }, step)),
    async add(id, items, expiresAt) {
      const names = items.map(({ name }) => name);
      const keys = items.map(({ key }) => key);
      await write(async (client) => void (await client.query(ADD, [id, names, keys, expiresAt])));
    },
    async open(id, { after, limit }) {
      return (await query(OPEN, [id, after ?? "", limit])).rows.map(fromItemColumns);
    },
    async done(id, items) {
      const names = items.map(({ name }) => name);
      await write(async (client) => void (await client.query(DONE, [id, names])));
    },
    countDone: (id) =>
      guard(async () => Number((await pool.query(upkeep(COUNT_DONE, [id]))).rows[0]?.n)),
    async find(target, name) {
      const { rows } = await query(FIND, [target, name]);
      return rows[0] === undefined ? undefined : fromBatchColumns(rows[0]);
    },
    async list(target, { after, limit, expiry }) {
      const { rows } = await query(LIST, [target, after ?? "", expiry, limit]);
      return rows.map(fromBatchColumns);
    },
  };
}

async function decide<T>(
  client: PoolClient,
  asked: { readonly target: string; readonly name: string; readonly at: LedgerInstant },
  step: (stored: JobBatch | undefined, at: LedgerInstant) => BatchDecision<T>,
): Promise<OrConflict<T>> {
  const { target, name, at } = asked;
  const { rows } = await client.query(`${FIND} FOR UPDATE`, [target, name]);
  const stored = rows[0] === undefined ? undefined : fromBatchColumns(rows[0]);
  const { save, result } = step(stored, at);
  if (save === null) return result;
  const sql = stored === undefined ? INSERT : UPDATE;
  const { rowCount } = await client.query(sql, [...toBatchColumns(target, save)]);
  return rowCount === 0 ? CONFLICT : result; // H1
}

/** Deletes up to `limit` expired batches and items. */
export async function purgeBatches(pool: Pool, limit: number, expiry: EpochMs): Promise<number> {
  const count = async (sql: string, max: number) => {
    const fenced = sql.replace("$1", fencedParameter(pool, "$1"));
    return (await pool.query(upkeep(fenced, [expiry, max]))).rowCount ?? 0;
  };
  const batches = await count(PURGE, limit);
  return batches + (await count(PURGE_ITEMS, limit - batches));
}
