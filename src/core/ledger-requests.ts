// Ledger requests: what is asked of a ledger, as values. The port (ports/ledger.ts) says what they
// mean.

import type { Failure, Fence, ObjectRef, RecordKey } from "./record-state.ts";
import type { DurationMs, EpochMs } from "./units.ts";

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
export interface Held {
  readonly key: RecordKey;
  readonly fence: Fence;
}

/** Stands in a sink's parameters for the fence, which a direct commit draws inside of the store. */
export const SINK_FENCE: unique symbol = Symbol("the fence of the record");

/** One statement of a sink that lives in the ledger's own database. */
export interface SinkWrite {
  readonly statement: string;
  readonly params: readonly (string | number | null | typeof SINK_FENCE)[];
}

/** A statement's parameters, with the record's fence in its place. */
export function sinkParams({ params }: SinkWrite, fence: Fence): (string | number | null)[] {
  return params.map((param) => (param === SINK_FENCE ? fence : param));
}

/** What came of a record that was claimed. */
export interface Commit extends Held {
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

export const NOTE_KINDS = ["dossier", "duplicates", "tried", "watermark"] as const;

/** What a note is for; kinds do not meet. */
export type NoteKind = (typeof NOTE_KINDS)[number];

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
