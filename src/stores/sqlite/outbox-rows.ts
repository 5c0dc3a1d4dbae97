// Outbox rows: the table's columns as values, and its statements.

import type { DatabaseSync } from "node:sqlite";
import type { OutboxRow } from "../../core/outbox-step.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { OutboxStats } from "../../ports/outbox.ts";

type Columns = Record<string, unknown>;

const text = (value: unknown) => (value === null ? null : String(value));
const instant = (value: unknown) => (value === null ? null : epochMs(Number(value)));

function fromColumns(columns: Columns): OutboxRow {
  return {
    seq: Number(columns.seq),
    key: String(columns.key),
    state: columns.state as OutboxRow["state"],
    epoch: Number(columns.epoch),
    groupId: text(columns.group_id),
    dedupId: String(columns.dedup_id),
    payloadDigest: String(columns.payload_digest),
    body: String(columns.body),
    attributes: JSON.parse(String(columns.attributes)),
    registeredAt: epochMs(Number(columns.registered_at)),
    owner: String(columns.owner),
    leaseUntil: epochMs(Number(columns.lease_until)),
    sentAt: instant(columns.sent_at),
    messageId: text(columns.message_id),
    reason: text(columns.reason),
    settled: columns.settled === 1,
    expiresAt: instant(columns.expires_at),
  };
}

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
      stats: db.prepare(STATS),
    };
  }

  find(target: string, key: string): OutboxRow | undefined {
    const found = this.#statements.find.get(target, key);
    return found === undefined ? undefined : fromColumns(found);
  }

  /** Puts a fresh row in place of what was there, and gives it with its seq. */
  insert(target: string, row: OutboxRow): OutboxRow {
    this.#statements.remove.run(target, row.key);
    const { lastInsertRowid } = this.#statements.insert.run(
      ...[target, row.key, row.state, row.epoch, row.groupId, row.dedupId],
      ...[row.payloadDigest, row.body, JSON.stringify(row.attributes)],
      ...[row.registeredAt, row.owner, row.leaseUntil],
    );
    return { ...row, seq: Number(lastInsertRowid) };
  }

  update(row: OutboxRow): void {
    this.#statements.update.run(
      ...[row.state, row.epoch, row.body, row.owner, row.leaseUntil, row.sentAt, row.messageId],
      ...[row.reason, row.settled ? 1 : 0, row.expiresAt, row.seq],
    );
  }

  pending(target: string, afterSeq: number, limit: number): OutboxRow[] {
    return this.#statements.pending.all(target, afterSeq, limit).map(fromColumns);
  }

  unsettled(target: string, afterSeq: number, sentBefore: EpochMs, limit: number): OutboxRow[] {
    return this.#statements.unsettled.all(target, afterSeq, sentBefore, limit).map(fromColumns);
  }

  purge(now: EpochMs, limit: number): number {
    return Number(this.#statements.purge.run(now, limit).changes);
  }

  stats(target: string): OutboxStats {
    const counts = { pending: 0, sent: 0, refused: 0 };
    let oldestPendingAt: EpochMs | null = null;
    for (const { state, n, oldest } of this.#statements.stats.all(target)) {
      counts[state as OutboxRow["state"]] = Number(n);
      if (state === "pending") oldestPendingAt = epochMs(Number(oldest));
    }
    return { ...counts, oldestPendingAt };
  }
}
