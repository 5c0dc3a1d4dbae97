// Outbox rows: the statements on the outbox's table.

import type { Pool, PoolClient } from "pg";
import {
  changedOutboxValues,
  fromOutboxColumns,
  newOutboxValues,
} from "../../ledger/outbox/outbox-columns.ts";
import { statsOfStates } from "../../ledger/outbox/outbox-stats.ts";
import type { OutboxRow, OutboxStats } from "../../ports/outbox.ts";
import { upkeep } from "./time-limits.ts";

export type Querier = Pool | PoolClient;

/** The rows of these keys, locked in key order so that two callers never deadlock. */
export async function lockRows(
  client: PoolClient,
  target: string,
  keys: readonly string[],
): Promise<Map<string, OutboxRow>> {
  const { rows } = await client.query(
    `SELECT * FROM tidegate_outbox WHERE target = $1 AND key = ANY($2) ORDER BY key FOR UPDATE`,
    [target, keys],
  );
  return new Map(rows.map((row) => [row.key, fromOutboxColumns(row)]));
}

/** Replaces `previous` by a new row; undefined if another transaction came first. */
export async function insertRow(
  client: PoolClient,
  target: string,
  row: OutboxRow,
  previous: OutboxRow | undefined,
): Promise<OutboxRow | undefined> {
  if (previous !== undefined) {
    await client.query("DELETE FROM tidegate_outbox WHERE seq = $1", [previous.seq]);
  }
  const { rows } = await client.query(
    `INSERT INTO tidegate_outbox (target, key, state, epoch, group_id, dedup_id, payload_digest,
       body, attributes, registered_at, owner, lease_until, settled)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, false)
     ON CONFLICT (target, key) DO NOTHING RETURNING seq`,
    [...newOutboxValues(target, row)],
  );
  return rows[0] === undefined ? undefined : { ...row, seq: Number(rows[0].seq) };
}

export async function updateRow(client: PoolClient, row: OutboxRow): Promise<void> {
  await client.query(
    `UPDATE tidegate_outbox SET state = $1, epoch = $2, body = $3, owner = $4, lease_until = $5,
       sent_at = $6, message_id = $7, reason = $8, settled = $9, expires_at = $10
     WHERE seq = $11`,
    [...changedOutboxValues(row)],
  );
}

/**
 * Leases the oldest free rows in one statement. A row waits while another owner leases an older row
 * of its group. The statement waits for rows that another transaction is changing. $6 is the end of
 * the longest possible lease: a later one is not believed (R5 of ledger/record-state.ts).
 */
export const TAKE = `
  WITH free AS (
    SELECT seq FROM tidegate_outbox AS own
    WHERE target = $1 AND state = 'pending' AND (owner = $2 OR lease_until <= $3 OR lease_until > $6)
      AND (group_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM tidegate_outbox AS older
        WHERE older.target = own.target AND older.state = 'pending'
          AND older.group_id = own.group_id AND older.seq < own.seq
          AND older.owner <> $2 AND older.lease_until > $3 AND older.lease_until <= $6))
    ORDER BY seq LIMIT $4 FOR UPDATE
  )
  UPDATE tidegate_outbox AS leased SET owner = $2, lease_until = $5
  FROM free WHERE leased.seq = free.seq RETURNING leased.*`;

/**
 * Whether another owner now leases an older row of a group. TAKE waited for that row and dropped
 * it, but judged the rows behind it by its previous state.
 */
export const PASSED = `
  SELECT 1 FROM tidegate_outbox AS own JOIN tidegate_outbox AS older
    ON older.target = own.target AND older.group_id = own.group_id AND older.seq < own.seq
  WHERE own.seq = ANY ($1::bigint[]) AND older.state = 'pending'
    AND older.owner <> $2 AND older.lease_until > $3 AND older.lease_until <= $4 LIMIT 1`;

export const UNSETTLED = `
  SELECT * FROM tidegate_outbox WHERE target = $1 AND state = 'sent' AND NOT settled
    AND seq > $2 AND sent_at <= $3 ORDER BY seq LIMIT $4`;

/**
 * Repeats the expiry condition: after waiting for a locked row, PostgreSQL checks only the outer
 * one again.
 */
export const PURGE = `
  DELETE FROM tidegate_outbox WHERE expires_at <= $1 AND seq IN
    (SELECT seq FROM tidegate_outbox WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)`;

/** Inspects as many of the oldest rows as it may delete, so that a call is bounded. */
export const PURGE_BEFORE = `
  DELETE FROM tidegate_outbox WHERE expires_at IS NOT NULL
    AND coalesce(sent_at, registered_at) < $1 AND seq IN
    (SELECT seq FROM tidegate_outbox WHERE expires_at IS NOT NULL ORDER BY seq LIMIT $2)`;

export async function findRow(
  client: Querier,
  target: string,
  key: string,
): Promise<OutboxRow | undefined> {
  const select = "SELECT * FROM tidegate_outbox WHERE target = $1 AND key = $2";
  const { rows } = await client.query(select, [target, key]);
  return rows[0] === undefined ? undefined : fromOutboxColumns(rows[0]);
}

export async function selectStats(client: Querier, target: string): Promise<OutboxStats> {
  const select = `
    SELECT state, count(*) AS n, min(registered_at) AS oldest
    FROM tidegate_outbox WHERE target = $1 GROUP BY state`;
  const { rows } = await client.query(upkeep(select, [target]));
  return statsOfStates(rows);
}
