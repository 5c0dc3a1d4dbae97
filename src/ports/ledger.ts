// Ledger: which records were seen, who may process them, and how they ended. Every store follows
// the state machine in ledger/record-state.ts and ledger/record-transitions.ts.
//   L1. A batch is a round trip, not an atom: results come in the order of the requests, each
//       record is decided on its own, and for each one state, object state, log entries and sink
//       writes are one atomic write. That is what the narrowest store (DynamoDB: non-interactive
//       transactions of at most 100 items) can give without paying for a transaction every time.
//   L2. What a call has answered is durable. A call that fails with TG_LEDGER_UNAVAILABLE may or
//       may not have been written, each record wholly or not at all; asking again is safe (S4 of
//       record-transitions.ts).
//   L3. Leases are judged by the callers' clocks. A wrong clock costs work done twice, never a
//       commit done twice: commits are judged by fences.
//   L4. A batch over LEDGER_BATCH_MAX or a value out of bounds is refused with TG_VALUE_INVALID
//       before anything is written.
//   L5. Notes follow the rule of ledger/notes.ts. They are not fenced, and a call repeated after a
//       lost answer counts twice; only a note that goes with a failure or a claim is written
//       exactly as often as that is.

import type { SinkWrite } from "../core/sink-write.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type {
  Failure,
  Fence,
  LedgerScope,
  LogEntry,
  ObjectRef,
  ObjectState,
  RecordKey,
  StoredRecord,
} from "./record.ts";

export interface ClaimRequest {
  readonly key: RecordKey;
  readonly receivedAt: EpochMs;
  readonly object?: ObjectRef;
  /** Added with the claim in one atomic write, and not at all if that is refused. */
  readonly note?: NoteInput;
}

export interface Lease {
  /** Names one worker of one process for as long as it lives. */
  readonly owner: string;
  readonly leaseMs: DurationMs;
}

/** A claim we hold, or held. */
export interface HeldRecord {
  readonly key: RecordKey;
  readonly fence: Fence;
}

/** What came of a record that was claimed. */
export interface Commit extends HeldRecord {
  /** Digest of the result, told to duplicates. */
  readonly digest: string;
  readonly effects?: string;
  /** The object whose applied sequencer advances with this commit. */
  readonly object?: ObjectRef;
  /** Run in the same transaction, and only if this commit is neither fenced nor superseded. */
  readonly writes?: readonly SinkWrite[];
}

/** What came of a record that was not claimed: the queue's receipt was the lease. */
export interface DirectCommit {
  readonly key: RecordKey;
  readonly owner: string;
  readonly receivedAt: EpochMs;
  readonly startedAt: EpochMs;
  readonly digest: string;
  readonly effects?: string;
  readonly object?: ObjectRef;
  readonly writes?: readonly SinkWrite[];
}

/** What a note is for; kinds do not meet. */
export type NoteKind = "dossier" | "duplicates" | "tried" | "watermark";

/** What is to be added to the note of that kind and name. */
export interface NoteInput {
  readonly kind: NoteKind;
  /** A record key, with what it is found by before it, or the name of a stream. */
  readonly name: string;
  readonly at: EpochMs;
  /** Added to what was counted before. */
  readonly count: number;
  /** Without NUL characters and unpaired surrogates, which JSON.stringify escapes. */
  readonly body: string;
}

/** A note as it is now: the sum of the counts, instant and body of the newest. */
export interface Note extends NoteInput {}

/** A part of a list by name. */
export interface NotePage {
  /** The last name of the page before; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

export interface FailedAttempt {
  readonly key: RecordKey;
  /** Null on the direct path; such a failure, told twice, counts twice. */
  readonly fence: Fence | null;
  readonly owner: string;
  readonly receivedAt: EpochMs;
  /** True parks the record: no claim succeeds until it is reopened. */
  readonly permanent: boolean;
  readonly failure: Failure;
  /** Added with the failure in one atomic write, and not at all if that is fenced or repeated. */
  readonly note?: NoteInput;
}

export interface Fenced {
  readonly kind: "fenced";
}
export interface Superseded {
  readonly kind: "superseded";
}

/** Why work is not ours to do. */
export type ClaimRefusal =
  /** Done before: acknowledge the delivery. */
  | { readonly kind: "duplicate"; readonly fence: Fence; readonly digest: string }
  /** Another holds it: give the delivery back until then. */
  | { readonly kind: "busy"; readonly until: EpochMs; readonly owner: string }
  /** A newer event of the object was applied: acknowledge the delivery. */
  | { readonly kind: "stale"; readonly appliedSequencer: string }
  /** Given up on: make sure of its dead letter, by key and fence, then acknowledge. */
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
      /** 1 for the first. */
      readonly attempt: number;
      readonly leaseUntil: EpochMs;
    }
  | ClaimRefusal;
export type RenewResult = { readonly kind: "renewed"; readonly leaseUntil: EpochMs } | Fenced;
export type CommitResult = { readonly kind: "committed" } | Superseded | Fenced;
export type DirectResult = { readonly kind: "committed"; readonly fence: Fence } | ClaimRefusal;
export type FailResult =
  | { readonly kind: "failed" | "parked"; readonly fence: Fence; readonly attempts: number }
  | Fenced;
export type ReleaseResult = { readonly kind: "released" } | Fenced;
export type ReopenResult = { readonly kind: "reopened" | "unchanged" };

export interface ScopeStats extends LedgerScope {
  readonly claimed: number;
  readonly released: number;
  readonly failed: number;
  readonly committed: number;
  readonly parked: number;
  readonly objects: number;
}

/** All that is known of a record. */
export interface RecordView {
  readonly key: RecordKey;
  readonly record: StoredRecord;
  /** Oldest first. */
  readonly entries: readonly LogEntry[];
}

export interface Ledger {
  /** Whether commits may carry `writes`, and in whose SQL; null refuses them. */
  readonly sinkDialect: "sqlite" | "postgres" | null;
  /** Leases each record without waiting. */
  claim(
    scope: LedgerScope,
    requests: readonly ClaimRequest[],
    lease: Lease,
  ): Promise<ClaimResult[]>;
  /** Prolongs claims from now on; a fenced one is lost and its work must stop. */
  renew(
    scope: LedgerScope,
    held: readonly HeldRecord[],
    leaseMs: DurationMs,
  ): Promise<RenewResult[]>;
  commit(scope: LedgerScope, commits: readonly Commit[]): Promise<CommitResult[]>;
  /** Claim and commit in one conditional write, for handlers faster than a lease is worth. */
  commitDirect(scope: LedgerScope, commits: readonly DirectCommit[]): Promise<DirectResult[]>;
  fail(scope: LedgerScope, attempts: readonly FailedAttempt[]): Promise<FailResult[]>;
  /** Gives claims back without counting them. */
  release(scope: LedgerScope, held: readonly HeldRecord[]): Promise<ReleaseResult[]>;
  /** Lets parked records be claimed again, with their attempts counted from zero. */
  reopen(scope: LedgerScope, keys: readonly RecordKey[]): Promise<ReopenResult[]>;
  show(scope: LedgerScope, key: RecordKey): Promise<RecordView | undefined>;
  showObject(scope: LedgerScope, bucket: string, key: string): Promise<ObjectState | undefined>;
  /** Adds to notes, each in one atomic write; the same name may occur twice. */
  addNotes(scope: LedgerScope, notes: readonly NoteInput[]): Promise<void>;
  findNote(scope: LedgerScope, kind: NoteKind, name: string): Promise<Note | undefined>;
  /** In the byte order of names; on DynamoDB a note of the last moment may still be missing. */
  listNotes(scope: LedgerScope, kind: NoteKind, page: NotePage): Promise<Note[]>;
  removeNotes(scope: LedgerScope, kind: NoteKind, names: readonly string[]): Promise<void>;
  /** Counts the records and objects remembered, by scope; reads everything, so seldom. */
  stats(): Promise<ScopeStats[]>;
  /** Deletes up to `limit` expired rows and tells how many; correctness never waits for it. */
  purge(limit: number): Promise<number>;
  /** What would break the ledger's promises as its store is set up, in sentences; or none. */
  check(): Promise<string[]>;
  close(): Promise<void>;
}
