// Record: the types in which a ledger describes one record and the object it belongs to. The state
// machine over them is in ledger/record-state.ts and ledger/record-transitions.ts.

import type { LaneDecision } from "../core/lane.ts";
import type { EpochMs } from "../core/units.ts";

export type { Lane, LaneDecision } from "../core/lane.ts";

declare const brand: unique symbol;

/** Identifies a record within its scope, e.g. `k1:<hex>`; opaque to the ledger. */
export type RecordKey = string & { readonly [brand]: "RecordKey" };

/**
 * Fencing token: grows with every claim of a record, and writes under an older one are rejected.
 */
export type Fence = number & { readonly [brand]: "Fence" };

/**
 * Records of different scopes are never deduplicated against each other. A redrive stays in its
 * generation, a replay starts a new one.
 */
export interface LedgerScope {
  readonly pipeline: string;
  readonly generation: number;
}

/** The object of a record. Without a sequencer the ledger does not order its events. */
export interface ObjectRef {
  readonly bucket: string;
  readonly key: string;
  readonly sequencer: string | null;
  /** The name of the state that the event left (core/events/object-identity.ts). */
  readonly state?: string;
  /** The state was found in a listing: it has no sequencer, and its place is found by claiming. */
  readonly listed?: true;
  /** In a commit: the answer to a claim that has to be confirmed. */
  readonly confirmed?: Confirmation;
}

/** Whether a state may be applied: the bucket has it as the current one, as of after the claim. */
export interface Confirmation {
  /** The `confirm` of the claim. */
  readonly basis: string;
  /** Also true for a listed past version that is newer than what was applied at the claim. */
  readonly isCurrent: boolean;
}

/** The newest event applied to one object within a scope. */
export interface ObjectState {
  readonly sequencer: string;
  readonly appliedKey: RecordKey;
  readonly expiresAt: EpochMs;
  readonly applied?: AppliedState;
}

/** The state of the object that was applied last. */
export interface AppliedState {
  readonly state: string;
  /**
   * The place of a listed write is a lower bound: an event with a greater sequencer may be older.
   * True until an event is known to be newer.
   */
  readonly listed: boolean;
}

/** Why an attempt failed. */
export interface Failure {
  /** Class of the error, such as `schema` or `throttled`. */
  readonly errorClass: string;
  /** The same for errors with the same cause, so that they can be counted together. */
  readonly fingerprint: string;
  readonly message: string;
}

/** The object version that an event is about. */
export interface InputObject {
  readonly bucket: string;
  readonly key: string;
  readonly versionId: string | null;
  readonly etag: string | null;
  readonly size: number | null;
  readonly sequencer: string | null;
}

/**
 * Where a record came from: what `why`, listings and replays show. Values that the pipeline masks
 * are masked here, too.
 */
export interface RecordInput {
  /** An S3 event, an envelope of Tidegate, a message in the user's format, or an unreadable one. */
  readonly kind: "object" | "message" | "own" | "unusable";
  readonly eventId: string | null;
  readonly object: InputObject | null;
  /** Event source of an envelope, queue of an own message; else null. */
  readonly source: string | null;
  /** The key that the producer knows the record by. */
  readonly dedupeKey: string | null;
  readonly eventTime: EpochMs;
  /** When the message was sent to its queue. */
  readonly sentAt: EpochMs;
  readonly messageId: string;
  readonly traceId: string | null;
  /** The run of the latest attempt; its row has the digests of code and configuration. */
  readonly runId: string;
  /** The stream whose event time moved with this record. */
  readonly partition: string;
  /** Decided once: every retry, redrive and replay of the record reuses it. */
  readonly lane: LaneDecision;
}

interface StoredFields {
  readonly fence: Fence;
  readonly attempts: number;
  readonly seenAt: EpochMs;
  readonly changedAt: EpochMs;
  readonly expiresAt: EpochMs;
}

export interface AbsentRecord {
  readonly kind: "absent";
}
export interface ClaimedRecord extends StoredFields {
  readonly kind: "claimed";
  readonly owner: string;
  readonly leaseUntil: EpochMs;
}
export interface ReleasedRecord extends StoredFields {
  readonly kind: "released";
}
export interface FailedRecord extends StoredFields {
  readonly kind: "failed";
  readonly failure: Failure;
}
export interface CommittedRecord extends StoredFields {
  readonly kind: "committed";
  readonly digest: string;
  /** The handler's own description of its effects, for later inspection. */
  readonly effects: string | null;
  /** A newer event of the same object was applied first, so this one's effects were skipped. */
  readonly superseded: boolean;
}
export interface ParkedRecord extends StoredFields {
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
