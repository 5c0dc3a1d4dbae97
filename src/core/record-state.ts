// Record state: what the ledger remembers of one record and of one object.
//
//   absent ──claim──> claimed ──commit──> committed
//                     │  ^  └───release─> released ──claim──> claimed
//                     │  └──claim after the lease ran out (fence grows)
//                     ├──fail──> failed ──claim──> claimed
//                     └──fail, permanent──> parked ──reopen──> released
//
//   R1. A record is named by scope (pipeline and generation) and key: two pipelines, or a replay
//       and the run it repeats, never meet.
//   R2. Every claim and every direct commit draws a fence above all that the record ever had. A
//       fence is max(former + 1, now), so that fences keep growing even after the ledger has
//       forgotten the record; sinks, which remember longer, may compare them for ever.
//   R3. An expired record is an absent one, whether or not its row is still there.
//   R4. Attempts count claims that were not given back, so that a crash counts like a failure.

import type { DurationMs, EpochMs } from "./units.ts";
import { days, hours } from "./units.ts";

declare const brand: unique symbol;

/** Names a record within its scope, e.g. `k1:<hex>`; the ledger never looks inside. */
export type RecordKey = string & { readonly [brand]: "RecordKey" };

/** Grows with every claim of a record; an older one is refused everywhere. */
export type Fence = number & { readonly [brand]: "Fence" };

export function recordKey(value: string): RecordKey {
  return value as RecordKey;
}

export function fenceOf(value: number): Fence {
  return value as Fence;
}

/** Whose memory: a redrive stays in its generation, a replay opens a new one. */
export interface LedgerScope {
  readonly pipeline: string;
  readonly generation: number;
}

/** The object a record tells of. Without a sequencer the ledger cannot order it, and does not. */
export interface ObjectRef {
  readonly bucket: string;
  readonly key: string;
  readonly sequencer: string | null;
}

/** The newest event applied to one object within a scope. */
export interface ObjectState {
  readonly sequencer: string;
  readonly appliedKey: RecordKey;
  readonly expiresAt: EpochMs;
}

/** Why an attempt ended badly. */
export interface Failure {
  /** Class of the error, a word such as `schema` or `throttled`. */
  readonly errorClass: string;
  /** The same for errors with the same cause, so that they can be counted together. */
  readonly fingerprint: string;
  readonly message: string;
}

interface Remembered {
  readonly fence: Fence;
  readonly attempts: number;
  readonly seenAt: EpochMs;
  readonly changedAt: EpochMs;
  readonly expiresAt: EpochMs;
}

export interface AbsentRecord {
  readonly kind: "absent";
}
export interface ClaimedRecord extends Remembered {
  readonly kind: "claimed";
  readonly owner: string;
  readonly leaseUntil: EpochMs;
}
export interface ReleasedRecord extends Remembered {
  readonly kind: "released";
}
export interface FailedRecord extends Remembered {
  readonly kind: "failed";
  readonly failure: Failure;
}
export interface CommittedRecord extends Remembered {
  readonly kind: "committed";
  readonly digest: string;
  /** What the handler did, in its own words; kept for whoever asks later. */
  readonly effects: string | null;
  /** A newer event of the same object was applied first, so this one's effects were left out. */
  readonly superseded: boolean;
}
export interface ParkedRecord extends Remembered {
  readonly kind: "parked";
  readonly failure: Failure;
}

export type StoredRecord =
  | ClaimedRecord
  | ReleasedRecord
  | FailedRecord
  | CommittedRecord
  | ParkedRecord;

export type RecordState = AbsentRecord | StoredRecord;

export const ABSENT: AbsentRecord = { kind: "absent" };

/** The state as of `now`: forgets what has expired (R3). */
export function liveRecord(record: RecordState, now: EpochMs): RecordState {
  return record.kind === "absent" || record.expiresAt > now ? record : ABSENT;
}

/** The object's state as of `now`, or null if there is none or it has expired (R3). */
export function liveObject(object: ObjectState | null, now: EpochMs): ObjectState | null {
  return object !== null && object.expiresAt > now ? object : null;
}

/** The longest lease: SQS hides a message for no longer. */
export const LEASE_MS_MAX: DurationMs = hours(12);

/** Longer than any lease, so that a live claim never expires. */
export const RETENTION_MS_MIN: DurationMs = days(1);

/**
 * Outlives 14 days in a queue, 14 more in a dead-letter queue, and two weeks until somebody
 * redrives it.
 */
export const RETENTION_MS_DEFAULT: DurationMs = days(45);
