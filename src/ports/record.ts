// Record: the types in which a ledger describes one record and the object it belongs to. The state
// machine over them is in ledger/record-state.ts and ledger/record-transitions.ts.

import type { EpochMs } from "../core/units.ts";

declare const brand: unique symbol;

/** Names a record within its scope, e.g. `k1:<hex>`; the ledger never looks inside. */
export type RecordKey = string & { readonly [brand]: "RecordKey" };

/** Grows with every claim of a record; an older one is refused everywhere. */
export type Fence = number & { readonly [brand]: "Fence" };

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

export type EntryStatus =
  | "received"
  | "started"
  | "succeeded"
  | "failed"
  | "released"
  | "reopened"
  | "superseded";

export interface LogEntry {
  readonly fence: Fence;
  readonly seq: number;
  readonly status: EntryStatus;
  readonly at: EpochMs;
  readonly owner: string | null;
  readonly failure: Failure | null;
}
