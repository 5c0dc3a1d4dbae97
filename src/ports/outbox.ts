// Outbox: what was promised to be sent, and what was sent. The law of its rows is
// ledger/outbox-transitions.ts; every store follows it.
//   O1. What a call has answered is durable, each row wholly or not at all.
//   O2. A row is named by target and key. Results come in the order of the entries.
//   O3. A call that fails with TG_OUTBOX_UNAVAILABLE may or may not have been written; asking again
//       is safe.

import type { DurationMs, EpochMs } from "../core/units.ts";

export interface OutboxEntry {
  /** The event's identity (envelopeKey). */
  readonly key: string;
  readonly groupId: string | null;
  /** Of epoch 0; see `dedupIdOf`. */
  readonly dedupId: string;
  readonly payloadDigest: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface OutboxRow extends OutboxEntry {
  /** Grows with every registration within a store. */
  readonly seq: number;
  readonly state: "pending" | "sent" | "refused";
  readonly epoch: number;
  readonly registeredAt: EpochMs;
  readonly owner: string;
  readonly leaseUntil: EpochMs;
  readonly sentAt: EpochMs | null;
  readonly messageId: string | null;
  /** Why the queue refused it. */
  readonly reason: string | null;
  readonly done: boolean;
  /** Null: never (B5). */
  readonly expiresAt: EpochMs | null;
}

export interface OutboxLease {
  readonly owner: string;
  readonly leaseMs: DurationMs;
}

export interface SentMark {
  readonly key: string;
  readonly epoch: number;
  readonly messageId: string;
}
export interface RefusedMark {
  readonly key: string;
  readonly epoch: number;
  readonly reason: string;
}

export type RegisterResult =
  /** Ours to send. */
  | { readonly kind: "taken"; readonly row: OutboxRow }
  /** Another is sending it. */
  | { readonly kind: "busy"; readonly until: EpochMs }
  | { readonly kind: "sent"; readonly sentAt: EpochMs; readonly messageId: string }
  | { readonly kind: "conflict"; readonly registeredAt: EpochMs };

export type RepublishResult =
  | { readonly kind: "taken"; readonly row: OutboxRow }
  | { readonly kind: "fenced" };

export interface OutboxStats {
  readonly pending: number;
  readonly sent: number;
  readonly refused: number;
  readonly oldestPendingAt: EpochMs | null;
}

export interface Outbox {
  /** Writes down what is to be sent, before it is; a row that is answered "taken" is the lease's. */
  register(
    target: string,
    entries: readonly OutboxEntry[],
    lease: OutboxLease,
  ): Promise<RegisterResult[]>;
  /** Leases pending rows that nobody else is sending, oldest first, never past a group's older. */
  take(target: string, limit: number, lease: OutboxLease): Promise<OutboxRow[]>;
  markSent(target: string, marks: readonly SentMark[]): Promise<void>;
  /** Says of pending rows that the queue will never take them. */
  markRefused(target: string, marks: readonly RefusedMark[]): Promise<void>;
  /** Makes a sent row pending again, if its epoch is still `epoch`; the next epoch is the caller's. */
  republish(
    target: string,
    key: string,
    epoch: number,
    lease: OutboxLease,
  ): Promise<RepublishResult>;
  /** Sent rows that nobody has settled yet, in the order they were registered in. */
  unsettled(
    target: string,
    page: { readonly sentBefore: EpochMs; readonly afterSeq: number; readonly limit: number },
  ): Promise<OutboxRow[]>;
  /** Says of sent rows that their work is done, so that no sweep looks at them again. */
  markDone(target: string, keys: readonly string[]): Promise<void>;
  find(target: string, key: string): Promise<OutboxRow | undefined>;
  stats(target: string): Promise<OutboxStats>;
  /** Deletes up to `limit` expired rows and tells how many; correctness never waits for it. */
  purge(limit: number): Promise<number>;
  close(): Promise<void>;
}
