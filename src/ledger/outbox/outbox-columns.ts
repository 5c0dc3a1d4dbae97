// Outbox columns: table rows as outbox rows, and back; the same in SQLite and PostgreSQL.

import { epochMs } from "../../core/units.ts";
import type { OutboxRow } from "../../ports/outbox.ts";

const text = (value: unknown) => (value === null ? null : String(value));
const instant = (value: unknown) => (value === null ? null : epochMs(Number(value)));

export function fromOutboxColumns(columns: Readonly<Record<string, unknown>>): OutboxRow {
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
    done: Boolean(columns.settled), // 0 or 1 in SQLite, which has no booleans.
    expiresAt: instant(columns.expires_at),
  };
}

/** The values of a new row, in the order of the columns. */
export function newOutboxValues(target: string, row: OutboxRow) {
  return [
    target,
    row.key,
    row.state,
    row.epoch,
    row.groupId,
    row.dedupId,
    row.payloadDigest,
    row.body,
    JSON.stringify(row.attributes),
    row.registeredAt,
    row.owner,
    row.leaseUntil,
  ] as const;
}

/** The values that a transition may change, in the order of the columns, and the row's seq. */
export function changedOutboxValues(row: OutboxRow) {
  return [
    row.state,
    row.epoch,
    row.body,
    row.owner,
    row.leaseUntil,
    row.sentAt,
    row.messageId,
    row.reason,
    row.done ? 1 : 0, // PostgreSQL reads it as a boolean, too.
    row.expiresAt,
    row.seq,
  ] as const;
}
