// Outbox transitions: the state machine of one row, which every store follows.
//
//   absent ──register──> pending ──markSent──> sent ──markDone──> sent, done
//                        │   ^                  └──republish──> pending (epoch grows)
//                        │   └──register or take, once the lease has expired or is the caller's
//                        └──markRefused──> refused ──register──> pending
//
//   B1. Registered before sent: no event leaves without a row, so a crash cannot lose it.
//   B2. The holder of its lease sends a pending row; others wait, or take over after the lease. A
//       lease longer than the longest possible one is not believed (R5 of record-state.ts).
//   B3. Another payload under the same key is a conflict while the row is stored, except for a
//       refused row, of which nothing was sent.
//   B4. Epochs only grow. A mark of an older epoch changes nothing. A republished message has its
//       epoch in its deduplication id, so that the queue does not drop it within five minutes.
//   B5. Pending rows never expire; sent and refused rows are kept for the retention period. A purge
//       may shorten it.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { encodeKey } from "../../core/encoding/key-encoding.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import type {
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RefusedMark,
  RegisterResult,
  SentMark,
} from "../../ports/outbox.ts";
import { isLeaseLive } from "../record-state.ts";
import type { LedgerInstant } from "../store-time.ts";

/** The answer, and what to save; `fresh` rows get a new seq and replace any existing row. */
export interface RegisterStep {
  readonly result: RegisterResult;
  readonly save: OutboxRow | null;
  readonly fresh: boolean;
}

/** The deduplication id of an epoch: the event's own at first, a new one per republication (B4). */
export function dedupIdOf(row: Pick<OutboxRow, "dedupId" | "epoch">): string {
  return row.epoch === 0
    ? row.dedupId
    : sha256Hex(encodeKey(["dedup-epoch", row.dedupId, row.epoch]));
}

function isRemembered(row: OutboxRow, expiry: EpochMs): boolean {
  return row.state !== "refused" && (row.expiresAt === null || row.expiresAt > expiry);
}

/** Whether `owner` may send the row now (B2). */
export function isFree(row: OutboxRow, owner: string, now: EpochMs): boolean {
  return row.state === "pending" && (row.owner === owner || !isLeaseLive(row.leaseUntil, now));
}

export function leased(row: OutboxRow, lease: OutboxLease, now: EpochMs): OutboxRow {
  return { ...row, owner: lease.owner, leaseUntil: addMs(now, lease.leaseMs) };
}

/** `seq` is the seq of a fresh row. */
export function stepRegister(
  row: OutboxRow | undefined,
  entry: OutboxEntry,
  lease: OutboxLease,
  at: LedgerInstant & { readonly seq: number },
): RegisterStep {
  const { now, expiry, seq } = at;
  if (row === undefined || !isRemembered(row, expiry)) {
    const fresh = leased(freshRow(entry, seq, now), lease, now);
    return { result: { kind: "taken", row: fresh }, save: fresh, fresh: true };
  }
  const keep = { save: null, fresh: false };
  if (row.payloadDigest !== entry.payloadDigest) {
    return { result: { kind: "conflict", registeredAt: row.registeredAt }, ...keep }; // B3
  }
  if (row.state === "sent") {
    const { sentAt, messageId } = row;
    return {
      result: { kind: "sent", sentAt: sentAt ?? row.registeredAt, messageId: messageId ?? "" },
      ...keep,
    };
  }
  if (!isFree(row, lease.owner, now)) {
    return { result: { kind: "busy", until: row.leaseUntil }, ...keep };
  }
  const renewed = leased(row, lease, now);
  return { result: { kind: "taken", row: renewed }, save: renewed, fresh: false };
}

function freshRow(entry: OutboxEntry, seq: number, now: EpochMs): OutboxRow {
  const { key, groupId, dedupId, payloadDigest, body, attributes } = entry;
  return {
    key,
    groupId,
    dedupId,
    payloadDigest,
    body,
    attributes,
    seq,
    state: "pending",
    epoch: 0,
    registeredAt: now,
    owner: "",
    leaseUntil: now,
    sentAt: null,
    messageId: null,
    reason: null,
    done: false,
    expiresAt: null,
  };
}

export interface PurgeTimes {
  readonly now: EpochMs;
  /** Rows sent or refused before then are purged, even if they have not expired. */
  readonly sentBefore: EpochMs | null;
}

/** Whether a purge deletes the row (B5). */
export function isPurgeable(row: OutboxRow, { now, sentBefore }: PurgeTimes): boolean {
  if (row.expiresAt === null) return false;
  return row.expiresAt <= now || (sentBefore !== null && finishedAt(row) < sentBefore);
}

/** When the row was sent; a refused row counts from its registration. */
function finishedAt({ sentAt, registeredAt }: OutboxRow): EpochMs {
  return sentAt ?? registeredAt;
}

/** The row after its message was sent, or null if the mark changes nothing (B4). */
export function stepSent(
  row: OutboxRow | undefined,
  mark: SentMark,
  now: EpochMs,
  retentionMs: DurationMs,
): OutboxRow | null {
  if (row === undefined || row.epoch !== mark.epoch || row.state === "sent") return null;
  const expiresAt = addMs(now, retentionMs);
  return { ...row, state: "sent", sentAt: now, messageId: mark.messageId, reason: null, expiresAt };
}

/** The row after its message was refused, or null if the mark changes nothing. */
export function stepRefused(
  row: OutboxRow | undefined,
  mark: RefusedMark,
  now: EpochMs,
  retentionMs: DurationMs,
): OutboxRow | null {
  if (row === undefined || row.epoch !== mark.epoch || row.state !== "pending") return null;
  return { ...row, state: "refused", reason: mark.reason, expiresAt: addMs(now, retentionMs) };
}

/** The row with its next epoch, or null if another process came first (B4). */
export function stepRepublish(
  row: OutboxRow | undefined,
  epoch: number,
  lease: OutboxLease,
  now: EpochMs,
): OutboxRow | null {
  if (row === undefined || row.state !== "sent" || row.epoch !== epoch || row.done) return null;
  return leased({ ...row, state: "pending", epoch: epoch + 1, expiresAt: null }, lease, now);
}

/** The row once its work is done, without the body. Null if it was not sent. */
export function stepDone(row: OutboxRow | undefined): OutboxRow | null {
  return row?.state === "sent" ? { ...row, done: true, body: "" } : null;
}
