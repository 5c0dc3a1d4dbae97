// Outbox rows: the statements on the outbox's table.

import type { DatabaseSync } from "node:sqlite";
import type { EpochMs } from "../../../core/units.ts";
import {
  changedOutboxValues,
  fromOutboxColumns,
  newOutboxValues,
} from "../../../ledger/outbox/outbox-columns.ts";
import { statsOfStates } from "../../../ledger/outbox/outbox-stats.ts";
import type { PurgeTimes } from "../../../ledger/outbox/outbox-transitions.ts";
import type { OutboxRow, OutboxStats } from "../../../ports/outbox.ts";

const INSERT = `INSERT INTO tidegate_outbox (target, key, state, epoch, group_id, dedup_id,
  payload_digest, body, attributes, registered_at, owner, lease_until, settled)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`;
const UPDATE = `UPDATE tidegate_outbox SET state = ?, epoch = ?, body = ?, owner = ?,
  lease_until = ?, sent_at = ?, message_id = ?, reason = ?, settled = ?, expires_at = ?
  WHERE seq = ?`;
const PENDING = `SELECT * FROM tidegate_outbox
  WHERE target = ? AND state = 'pending' AND seq > ? ORDER BY seq LIMIT ?`;
const UNSETTLED = `SELECT * FROM tidegate_outbox
  WHERE target = ? AND state = 'sent' AND settled = 0 AND seq > ? AND sent_at <= ?
  ORDER BY seq LIMIT ?`;
const PURGE = `DELETE FROM tidegate_outbox WHERE seq IN
  (SELECT seq FROM tidegate_outbox WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
/** Inspects as many of the oldest rows as it may delete, so that a call is bounded. */
const PURGE_BEFORE = `DELETE FROM tidegate_outbox WHERE seq IN
  (SELECT seq FROM
    (SELECT seq, sent_at, registered_at FROM tidegate_outbox
      WHERE expires_at IS NOT NULL ORDER BY seq LIMIT ?)
    WHERE coalesce(sent_at, registered_at) < ?)`;
const STATS = `SELECT state, count(*) AS n, min(registered_at) AS oldest
  FROM tidegate_outbox WHERE target = ? GROUP BY state`;

export class OutboxRows {
  readonly #statements;

  constructor(db: DatabaseSync) {
    this.#statements = {
      find: db.prepare("SELECT * FROM tidegate_outbox WHERE target = ? AND key = ?"),
      remove: db.prepare("DELETE FROM tidegate_outbox WHERE target = ? AND key = ?"),
      insert: db.prepare(INSERT),
      update: db.prepare(UPDATE),
      pending: db.prepare(PENDING),
      unsettled: db.prepare(UNSETTLED),
      purge: db.prepare(PURGE),
      purgeBefore: db.prepare(PURGE_BEFORE),
      stats: db.prepare(STATS),
    };
  }

  find(target: string, key: string): OutboxRow | undefined {
    const row = this.#statements.find.get(target, key);
    return row === undefined ? undefined : fromOutboxColumns(row);
  }

  /** Replaces any existing row by a new one; returns it with its seq. */
  insert(target: string, row: OutboxRow): OutboxRow {
    this.#statements.remove.run(target, row.key);
    const { lastInsertRowid } = this.#statements.insert.run(...newOutboxValues(target, row));
    return { ...row, seq: Number(lastInsertRowid) };
  }

  update(row: OutboxRow): void {
    this.#statements.update.run(...changedOutboxValues(row));
  }

  pending(target: string, afterSeq: number, limit: number): OutboxRow[] {
    return this.#statements.pending.all(target, afterSeq, limit).map(fromOutboxColumns);
  }

  unsettled(target: string, afterSeq: number, sentBefore: EpochMs, limit: number): OutboxRow[] {
    return this.#statements.unsettled
      .all(target, afterSeq, sentBefore, limit)
      .map(fromOutboxColumns);
  }

  purge(limit: number, { now, sentBefore }: PurgeTimes): number {
    const expired = Number(this.#statements.purge.run(now, limit).changes);
    if (sentBefore === null || expired >= limit) return expired;
    const older = this.#statements.purgeBefore.run(limit - expired, sentBefore);
    return expired + Number(older.changes);
  }

  stats(target: string): OutboxStats {
    return statsOfStates(this.#statements.stats.all(target));
  }
}
