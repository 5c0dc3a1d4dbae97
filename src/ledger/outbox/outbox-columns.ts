// Outbox columns: maps a table row to an outbox row; SQLite and PostgreSQL use the same columns.

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
