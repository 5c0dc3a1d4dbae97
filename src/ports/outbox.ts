// Outbox: events registered for sending, and events sent. Every store follows the state machine in
// ledger/outbox/outbox-transitions.ts.
//   O1. A call is durable when it resolves; each row is written completely or not at all.
//   O2. A row is identified by target and key. Results come in the order of the entries.
//   O3. A call that fails with TG_OUTBOX_UNAVAILABLE may or may not have been written; repeating it
//       is safe.

import type { ClockLeap } from "../core/store-clock.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type { BatchStore } from "./batches.ts";

export interface OutboxEntry {
  /** The event's identity (envelopeKey). */
  readonly key: string;
  readonly groupId: string | null;
  /** Deduplication id of epoch 0; see `dedupIdOf`. */
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
  /** Why the queue refused the message. */
  readonly reason: string | null;
  readonly done: boolean;
  /** Null: never (B5 of outbox-transitions.ts). */
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
  /** The caller holds the lease and must send it. */
  | { readonly kind: "taken"; readonly row: OutboxRow }
  /** Another process is sending it; `until` is on the caller's clock. */
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

/** Events to send and events sent, each stored before it is sent. */
export interface Outbox extends BatchStore {
  /**
   * Stores entries before they are sent. The caller holds the lease of every row answered "taken".
   */
  register(
    target: string,
    entries: readonly OutboxEntry[],
    lease: OutboxLease,
  ): Promise<RegisterResult[]>;
  /**
   * Leases free pending rows, oldest first. Skips a row while another owner leases an older row of
   * its group.
   */
  take(target: string, limit: number, lease: OutboxLease): Promise<OutboxRow[]>;
  markSent(target: string, marks: readonly SentMark[]): Promise<void>;
  /** Marks pending rows that the queue will never accept. */
  markRefused(target: string, marks: readonly RefusedMark[]): Promise<void>;
  /**
   * Makes a sent row pending again in the next epoch, leased to the caller, if its epoch still is
   * `epoch`.
   */
  republish(
    target: string,
    key: string,
    epoch: number,
    lease: OutboxLease,
  ): Promise<RepublishResult>;
  /** Sent rows that are not marked done yet, in order of registration. */
  sentNotDone(
    target: string,
    page: { readonly sentBefore: EpochMs; readonly afterSeq: number; readonly limit: number },
  ): Promise<OutboxRow[]>;
  /** Marks sent rows whose work is done, so that `sentNotDone` no longer returns them. */
  markDone(target: string, keys: readonly string[]): Promise<void>;
  find(target: string, key: string): Promise<OutboxRow | undefined>;
  stats(target: string): Promise<OutboxStats>;
  /**
   * Deletes up to `limit` expired rows, batches and items, and returns their number. With
   * `sentBefore`, rows that were sent or refused before then count as expired, whatever retention
   * they were written with. It is on the caller's clock; a leap of that clock deletes nothing.
   */
  purge(limit: number, sentBefore?: EpochMs): Promise<number>;
  /** True if the store deletes expired rows by itself; a purge would read the whole table. */
  readonly expiresRows?: true;
  /** A leap of the clock that is not confirmed; nothing expires by it (core/store-clock.ts). */
  leap(): ClockLeap | null;
  close(): Promise<void>;
}
