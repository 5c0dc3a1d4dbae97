// Ledger: which records arrived, who may process them, and how they ended. Every store follows the
// state machine in ledger/record-state.ts and ledger/record-transitions.ts.
//   L1. A batch is one round trip, not one transaction. Results come in the order of the requests,
//       and each record is decided on its own. Per record, its state, object state, log entries and
//       sink writes are one atomic write. That is what the narrowest store offers without a
//       transaction every time (DynamoDB: non-interactive transactions of at most 100 items).
//   L2. A call is durable when it resolves. A call that fails with TG_LEDGER_UNAVAILABLE may or may
//       not have been written, each record completely or not at all; repeating it is safe (S4 of
//       record-transitions.ts).
//   L3. Leases depend on clocks: the database server's, or the callers'. A wrong clock can cause
//       duplicate work for the longest lease, never a duplicate commit: commits depend on fences.
//       Nothing expires by a clock that leapt (ledger/store-time.ts).
//   L4. A batch over LEDGER_BATCH_MAX or a value out of bounds is rejected with TG_VALUE_INVALID
//       before anything is written.
//   L5. Notes follow the rule of ledger/notes.ts. They are not fenced, and a call repeated after a
//       lost response counts twice. Only a note that accompanies a failure or a claim is written
//       exactly as often as that is.
//   L6. The first claim, failure or commit of a record stores its input. What identifies the event
//       (its object, source, event time, partition, lane) then stays; message, trace and run follow
//       the latest attempt (ledger/record-input.ts).
//   L7. Lists have one total order: the chosen value, then the record key. A record that is stored
//       all the time is neither skipped nor listed twice, whatever is written between two pages.

import type { SinkWrite } from "../core/sink-write.ts";
import type { ClockLeap } from "../core/store-clock.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type {
  Failure,
  Fence,
  LaneDecision,
  LedgerScope,
  LogEntry,
  ObjectRef,
  ObjectState,
  RecordInput,
  RecordKey,
  StoredRecord,
} from "./record.ts";
import type { SinkStore } from "./sink.ts";

export interface ClaimRequest {
  readonly key: RecordKey;
  readonly receivedAt: EpochMs;
  readonly input: RecordInput;
  readonly object?: ObjectRef;
  /** Added with the claim in one atomic write; not added if the claim is rejected. */
  readonly note?: NoteInput;
}

export interface Lease {
  /** Identifies one worker of one process for its lifetime. */
  readonly owner: string;
  readonly leaseMs: DurationMs;
}

/** A claim that the caller holds, or held. */
export interface FencedKey {
  readonly key: RecordKey;
  readonly fence: Fence;
}

/** The outcome of a claimed record. */
export interface Commit extends FencedKey {
  /** Content hash of the effects, returned to duplicates. */
  readonly digest: string;
  readonly effects?: string;
  /** The object whose applied sequencer advances with this commit. */
  readonly object?: ObjectRef;
  /** Run in the same transaction, and only if this commit is neither fenced nor superseded. */
  readonly writes?: readonly SinkWrite[];
}

/** The outcome of an unclaimed record: the queue's receipt served as the lease. */
export interface DirectCommit {
  readonly key: RecordKey;
  readonly owner: string;
  readonly receivedAt: EpochMs;
  readonly startedAt: EpochMs;
  readonly input: RecordInput;
  readonly digest: string;
  readonly effects?: string;
  readonly object?: ObjectRef;
  readonly writes?: readonly SinkWrite[];
}

/** The purpose of a note; notes of different kinds are separate. */
export type NoteKind =
  | "audit"
  | "dossier"
  | "duplicates"
  | "edited"
  | "halted"
  | "held"
  | "partitions"
  | "paused"
  | "quarantined"
  | "replay"
  | "tried"
  | "watermark";

/** An addition to the note with that kind and name. */
export interface NoteInput {
  readonly kind: NoteKind;
  /** A record key, optionally with a prefix to search by, or the name of a stream. */
  readonly name: string;
  readonly at: EpochMs;
  /** Added to the stored count. */
  readonly count: number;
  /** Must not contain NUL characters or unpaired surrogates, which JSON.stringify escapes. */
  readonly body: string;
}

/** A note as stored: the sum of the counts, with instant and body of the newest addition. */
export interface Note extends NoteInput {}

/** One page of a list by name. */
export interface NotePage {
  /** The last name of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface FailedAttempt {
  readonly key: RecordKey;
  /** Null on the direct path; such a failure counts twice if reported twice. */
  readonly fence: Fence | null;
  readonly owner: string;
  readonly receivedAt: EpochMs;
  readonly input: RecordInput;
  /** True parks the record: no claim succeeds until it is reopened. */
  readonly permanent: boolean;
  readonly failure: Failure;
  /** Added with the failure in one atomic write; not added if the failure is fenced or repeated. */
  readonly note?: NoteInput;
}

export interface Fenced {
  readonly kind: "fenced";
}
export interface Superseded {
  readonly kind: "superseded";
}

/** Why the caller must not process the record. */
export type ClaimRefusal =
  /** Already committed: acknowledge the delivery. */
  | { readonly kind: "duplicate"; readonly fence: Fence; readonly digest: string }
  /** Another worker holds the claim: return the delivery until then, by the caller's clock. */
  | { readonly kind: "busy"; readonly until: EpochMs; readonly owner: string }
  /** A newer event of the object was applied: acknowledge the delivery. */
  | { readonly kind: "stale"; readonly appliedSequencer: string }
  /** Dead-lettered: make sure that its dead letter exists, by key and fence, then acknowledge. */
  | {
      readonly kind: "parked";
      readonly fence: Fence;
      readonly attempts: number;
      readonly failure: Failure;
    };

export type ClaimResult =
  | {
      readonly kind: "claimed";
      readonly fence: Fence;
      /** 1 for the first attempt. */
      readonly attempt: number;
      readonly leaseUntil: EpochMs;
      /** The recorded lane: that of the request for a new record, else the first one. */
      readonly lane: LaneDecision;
      /** The recorded event time, by the same rule. */
      readonly eventTime: EpochMs;
      /**
       * Set if the order of the event is unknown, because a listing takes part. The caller must ask
       * the bucket whether the state is the current one, and commit with the answer.
       */
      readonly confirm?: string;
    }
  | ClaimRefusal;
export type RenewResult = { readonly kind: "renewed"; readonly leaseUntil: EpochMs } | Fenced;
/** Nothing was written: the object changed, and its order has to be confirmed again. */
export interface Unconfirmed {
  readonly kind: "unconfirmed";
}
export type CommitResult = { readonly kind: "committed" } | Superseded | Fenced | Unconfirmed;
export type DirectResult = { readonly kind: "committed"; readonly fence: Fence } | ClaimRefusal;
export type FailResult =
  | { readonly kind: "failed" | "parked"; readonly fence: Fence; readonly attempts: number }
  | Fenced;
export type ReleaseResult = { readonly kind: "released" } | Fenced;
export type ReopenResult = { readonly kind: "reopened" | "unchanged" };

/** The records of a scope, by state. */
export interface ScopeStats extends LedgerScope {
  readonly claimed: number;
  readonly released: number;
  readonly failed: number;
  readonly committed: number;
  readonly parked: number;
  readonly objects: number;
}

/** Everything the ledger stores about a record. */
export interface RecordView {
  readonly key: RecordKey;
  readonly record: StoredRecord;
  readonly input: RecordInput;
  /** Oldest first. */
  readonly entries: readonly LogEntry[];
}

/** A process life or a replay: what code ran, with which configuration, and what came of it. */
export interface RunRow {
  readonly id: string;
  readonly kind: RunKind;
  readonly startedAt: EpochMs;
  /** Null while it runs, and forever if it crashed. */
  readonly endedAt: EpochMs | null;
  /** The latest heartbeat. */
  readonly seenAt: EpochMs;
  /** SHA-256 of the pipeline file and its local imports. */
  readonly codeDigest: string;
  /** SHA-256 of the effective settings, without secrets. */
  readonly configDigest: string;
  /** JSON: versions and platform. */
  readonly environment: string;
  /** JSON: what a replay was asked for. */
  readonly parameters: string;
  /** JSON: records by outcome. */
  readonly counts: string;
}

export type RunKind = "live" | "replay" | "backfill";

/** One page of a list. */
export interface ListPage {
  /** `next` of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface RunPage {
  readonly runs: readonly RunRow[];
  /** Null after the last page. */
  readonly next: string | null;
}

/** The value that orders a list of records and that `from` and `to` select by. */
export type RecordOrder = "event-time" | "commit-time" | "object";

export interface RecordQuery {
  /**
   * "commit-time" lists committed records only. "object" lists records with an object, by bucket
   * and key; `from` and `to` then select by event time.
   */
  readonly by: RecordOrder;
  readonly from?: EpochMs;
  /** Exclusive. */
  readonly to?: EpochMs;
  /** Only records of objects in this bucket. */
  readonly bucket?: string;
  /** Only records of objects whose key starts with it; needs `bucket`. */
  readonly prefix?: string;
  /**
   * Only records of objects with this key or one after it, and up to `keyTo`, by UTF-8 bytes; both
   * need `bucket` and the order "object", and exclude `prefix`.
   */
  readonly keyFrom?: string;
  readonly keyTo?: string;
  readonly outcomes?: readonly StoredRecord["kind"][];
  /** Reverses the order; not with "object". Default: false. */
  readonly newestFirst?: boolean;
}

export interface ListedRecord {
  readonly key: RecordKey;
  readonly record: StoredRecord;
  readonly input: RecordInput;
}

export interface RecordPage {
  readonly records: readonly ListedRecord[];
  /** Null after the last page. A page may have fewer records than `limit`, even none. */
  readonly next: string | null;
}

/**
 * Which records arrived, who may process them, and how they ended. Every method is durable when it
 * resolves.
 */
export interface Ledger {
  /** The SQL dialect of `writes` in commits; null if the store rejects them. */
  readonly sinkDialect: "sqlite" | "postgres" | null;
  /** The same database, for a sink's work outside of commits; null if the store rejects writes. */
  readonly sinkStore: SinkStore | null;
  /** Leases each record, without waiting. */
  claim(
    scope: LedgerScope,
    requests: readonly ClaimRequest[],
    lease: Lease,
  ): Promise<ClaimResult[]>;
  /** Extends claims from now on; a fenced one is lost, and its work must stop. */
  renew(
    scope: LedgerScope,
    claims: readonly FencedKey[],
    leaseMs: DurationMs,
  ): Promise<RenewResult[]>;
  commit(scope: LedgerScope, commits: readonly Commit[]): Promise<CommitResult[]>;
  /** Claims and commits in one conditional write, for handlers too fast to need a lease. */
  commitDirect(scope: LedgerScope, commits: readonly DirectCommit[]): Promise<DirectResult[]>;
  fail(scope: LedgerScope, attempts: readonly FailedAttempt[]): Promise<FailResult[]>;
  /** Releases claims without counting them as attempts. */
  release(scope: LedgerScope, claims: readonly FencedKey[]): Promise<ReleaseResult[]>;
  /** Makes parked records claimable again, with their attempts reset to zero. */
  reopen(scope: LedgerScope, keys: readonly RecordKey[]): Promise<ReopenResult[]>;
  /**
   * Whether the ledger has a record of each key, in any state. A consistent read: it sees every
   * call that resolved before it. A claim or a commit may follow it at any time.
   */
  hasRecords(scope: LedgerScope, keys: readonly RecordKey[]): Promise<boolean[]>;
  show(scope: LedgerScope, key: RecordKey): Promise<RecordView | undefined>;
  /**
   * The keys of up to `limit` records that have `text` in the URL of their object (s3://...) or in
   * another name of their input. Reads everything, so use it rarely.
   */
  searchRecords(scope: LedgerScope, text: string, limit: number): Promise<RecordKey[]>;
  showObject(scope: LedgerScope, bucket: string, key: string): Promise<ObjectState | undefined>;
  /** Adds to notes, each in one atomic write; a name may occur twice. */
  addNotes(scope: LedgerScope, notes: readonly NoteInput[]): Promise<void>;
  findNote(scope: LedgerScope, kind: NoteKind, name: string): Promise<Note | undefined>;
  /** In the byte order of names. On DynamoDB a very recent note may still be missing. */
  listNotes(scope: LedgerScope, kind: NoteKind, page: NotePage): Promise<Note[]>;
  removeNotes(scope: LedgerScope, kind: NoteKind, names: readonly string[]): Promise<void>;
  /**
   * Records in the order of the query, without reading others. DynamoDB needs a table that was
   * created for listing; on any other it fails with TG_LISTING_OFF.
   */
  listRecords(scope: LedgerScope, query: RecordQuery, page: ListPage): Promise<RecordPage>;
  /**
   * Inserts a run or updates it by id. An older heartbeat changes nothing, and an end stays. A run
   * is kept for as long as the records that refer to it.
   */
  putRun(scope: LedgerScope, run: RunRow): Promise<void>;
  findRun(scope: LedgerScope, id: string): Promise<RunRow | undefined>;
  /** Newest start first. On DynamoDB a very recent run may still be missing. */
  listRuns(scope: LedgerScope, page: ListPage): Promise<RunPage>;
  /** Counts stored records and objects by scope. Reads everything, so use it rarely. */
  stats(): Promise<ScopeStats[]>;
  /** Deletes up to `limit` expired rows and returns how many. Correctness does not depend on it. */
  purge(limit: number): Promise<number>;
  /** A leap of the clock that is not confirmed; nothing expires by it (core/store-clock.ts). */
  leap(): ClockLeap | null;
  /** Problems of the store's setup that would break the ledger's guarantees, one sentence each. */
  check(): Promise<string[]>;
  close(): Promise<void>;
}
