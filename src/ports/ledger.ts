// Ledger: what was seen, who may work on it, what came of it. The states and the law of their
// changes are in core/record-state.ts and core/record-step.ts; every store follows that law.
//   L1. A batch is a round trip, not an atom: results come in the order of the requests, each
//       record is decided on its own, and for each one state, object state, log entries and sink
//       writes are one atomic write. That is what the narrowest store (DynamoDB: non-interactive
//       transactions of at most 100 items) can give without paying for a transaction every time.
//   L2. What a call has answered is durable. A call that fails with TG_LEDGER_UNAVAILABLE may or
//       may not have been written, each record wholly or not at all; asking again is safe (S4 of
//       the law).
//   L3. Leases are judged by the callers' clocks. A wrong clock costs work done twice, never a
//       commit done twice: commits are judged by fences.
//   L4. A batch over LEDGER_BATCH_MAX or a value out of bounds is refused with TG_VALUE_INVALID
//       before anything is written.
//   L5. Notes follow the rule of core/note.ts. They are not fenced, and a call repeated after a
//       lost answer counts twice; only a note that goes with a failure or a claim is written
//       exactly as often as that is.

import type {
  ClaimRequest,
  Commit,
  DirectCommit,
  FailedAttempt,
  Held,
  Lease,
  Note,
  NoteInput,
  NoteKind,
  NotePage,
} from "../core/ledger-requests.ts";
import type { LogEntry } from "../core/record-log.ts";
import type { LedgerScope, ObjectState, RecordKey, StoredRecord } from "../core/record-state.ts";
import type {
  ClaimResult,
  CommitResult,
  DirectResult,
  FailResult,
  ReleaseResult,
  RenewResult,
  ReopenResult,
} from "../core/record-step.ts";
import type { ScopeStats } from "../core/scope-stats.ts";
import type { DurationMs } from "../core/units.ts";

export type {
  ClaimRequest,
  Commit,
  DirectCommit,
  FailedAttempt,
  Held,
  Lease,
  Note,
  NoteInput,
  NoteKind,
  NotePage,
  SinkWrite,
} from "../core/ledger-requests.ts";
export type {
  ClaimResult,
  CommitResult,
  DirectResult,
  FailResult,
  ReleaseResult,
  RenewResult,
  ReopenResult,
} from "../core/record-step.ts";
export type { ScopeStats } from "../core/scope-stats.ts";

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
  renew(scope: LedgerScope, held: readonly Held[], leaseMs: DurationMs): Promise<RenewResult[]>;
  commit(scope: LedgerScope, commits: readonly Commit[]): Promise<CommitResult[]>;
  /** Claim and commit in one conditional write, for handlers faster than a lease is worth. */
  commitDirect(scope: LedgerScope, commits: readonly DirectCommit[]): Promise<DirectResult[]>;
  fail(scope: LedgerScope, attempts: readonly FailedAttempt[]): Promise<FailResult[]>;
  /** Gives claims back without counting them. */
  release(scope: LedgerScope, held: readonly Held[]): Promise<ReleaseResult[]>;
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
