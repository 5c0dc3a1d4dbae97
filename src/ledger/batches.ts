// Ledger batches: the checks that every store makes before it writes, and the split of a batch into
// rounds, so that a record sees the changes of earlier records with the same key or object.

import { refuseValue } from "../core/errors.ts";
import { FAILURE_MESSAGE_CHARS_MAX } from "../core/limits.ts";
import type { NoteInput, NoteKind, NotePage } from "../ports/ledger.ts";
import type { Failure, LedgerScope, ObjectRef, RecordInput, RecordKey } from "../ports/record.ts";
import { checkInput } from "./input-checks.ts";
import { NOTE_KINDS } from "./notes.ts";
import { LEASE_MS_MAX, RETENTION_MS_MIN } from "./record-state.ts";
import { checkInstant, checkObject, checkStoredText } from "./value-checks.ts";

export const LEDGER_BATCH_MAX = 1_000;
export const RECORD_KEY_CHARS_MAX = 256;
export const DIGEST_CHARS_MAX = 256;
export const EFFECTS_CHARS_MAX = 16_384;
export const OWNER_CHARS_MAX = 256;
export const NOTE_NAME_CHARS_MAX = 256;
/** At three bytes each, plus its name twice, below the 400 KB of a DynamoDB item. */
export const NOTE_CHARS_MAX = 131_072;
/** Low enough for sums to stay exact. */
export const NOTE_COUNT_MAX = 1_000_000_000;
export const NOTE_PAGE_MAX = 1_000;
export const SEARCH_MAX = 10_000;
const NAME_CHARS_MAX = 256;
const PIPELINE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The fields that requests of different kinds share. */
export interface BatchItem {
  readonly key: RecordKey;
  readonly object?: ObjectRef;
  readonly owner?: string;
  readonly digest?: string;
  readonly effects?: string;
  readonly writes?: readonly unknown[];
  readonly fence?: number | null;
  readonly receivedAt?: number;
  readonly startedAt?: number;
  readonly failure?: Failure;
  readonly input?: RecordInput;
  readonly note?: NoteInput;
}

function checkFailure(failure: Failure): void {
  checkStoredText("error class", failure.errorClass, NAME_CHARS_MAX);
  checkStoredText("fingerprint", failure.fingerprint, NAME_CHARS_MAX);
  if (failure.message.length > FAILURE_MESSAGE_CHARS_MAX) {
    refuseValue(`the failure's message is over ${FAILURE_MESSAGE_CHARS_MAX} characters`);
  }
}

export function checkScope(scope: LedgerScope): void {
  const { pipeline, generation } = scope;
  if (!PIPELINE.test(pipeline)) {
    refuseValue(`the pipeline ${JSON.stringify(pipeline)} must match ${PIPELINE.source}`);
  }
  if (!Number.isSafeInteger(generation) || generation < 0) {
    refuseValue(`the generation ${generation} is not a whole number from 0`);
  }
}

export function checkNoteKind(kind: NoteKind): void {
  if (!NOTE_KINDS.includes(kind)) refuseValue(`unknown kind of note ${JSON.stringify(kind)}`);
}

export function checkNoteName(name: string): void {
  checkStoredText("name of a note", name, NOTE_NAME_CHARS_MAX);
}

function checkNote({ kind, name, at, count, body }: NoteInput): void {
  checkNoteKind(kind);
  checkNoteName(name);
  checkInstant("time of a note", at);
  checkStoredText("body of a note", body, NOTE_CHARS_MAX);
  if (!Number.isSafeInteger(count) || count < 0 || count > NOTE_COUNT_MAX) {
    refuseValue(`the count ${count} of a note must be a whole number from 0 to ${NOTE_COUNT_MAX}`);
  }
}

/** Rejects the notes before any of them is written. */
export function checkNotes(scope: LedgerScope, notes: readonly NoteInput[]): void {
  checkScope(scope);
  checkBatchSize("notes", notes.length);
  for (const note of notes) checkNote(note);
}

export function checkNoteNames(names: readonly string[]): void {
  checkBatchSize("notes", names.length);
  for (const name of names) checkNoteName(name);
}

export function checkNotePage({ after, limit }: NotePage): void {
  if (after !== null) checkNoteName(after);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > NOTE_PAGE_MAX) {
    refuseValue(`a page of ${limit} notes is outside 1 to ${NOTE_PAGE_MAX}`);
  }
}

export function checkSearch(text: string, limit: number): void {
  checkStoredText("text to search", text, EFFECTS_CHARS_MAX);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > SEARCH_MAX) {
    refuseValue(`a search for ${limit} records is outside 1 to ${SEARCH_MAX}`);
  }
}

function checkBatchSize(what: string, size: number): void {
  if (size > LEDGER_BATCH_MAX)
    refuseValue(`a batch of ${size} ${what} is over ${LEDGER_BATCH_MAX}`);
}

/** Rejects the batch before any of it is written. */
export function checkBatch(
  scope: LedgerScope,
  items: readonly BatchItem[],
  store: { readonly takesWrites: boolean },
): void {
  checkScope(scope);
  checkBatchSize("records", items.length);
  for (const item of items) {
    checkStoredText("record key", item.key, RECORD_KEY_CHARS_MAX);
    checkStoredText("owner", item.owner, OWNER_CHARS_MAX);
    checkStoredText("digest", item.digest, DIGEST_CHARS_MAX);
    checkStoredText("effects", item.effects, EFFECTS_CHARS_MAX);
    checkInstant("fence", item.fence);
    checkInstant("time of receipt", item.receivedAt);
    checkInstant("time of start", item.startedAt);
    if (item.failure !== undefined) checkFailure(item.failure);
    if (item.object !== undefined) checkObject(item.object);
    if (item.input !== undefined) checkInput(item.input);
    if (item.note !== undefined) checkNote(item.note);
    if (item.writes !== undefined && item.writes.length > 0 && !store.takesWrites) {
      refuseValue(
        "this ledger's store cannot commit sink writes; use a SQLite or PostgreSQL ledger",
      );
    }
  }
}

export function checkLease(leaseMs: number, owner?: string): void {
  checkStoredText("owner", owner, OWNER_CHARS_MAX);
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 1 || leaseMs > LEASE_MS_MAX) {
    refuseValue(`a lease of ${leaseMs} ms is outside 1 to ${LEASE_MS_MAX}`);
  }
}

export function checkRetention(retentionMs: number): void {
  if (!Number.isSafeInteger(retentionMs) || retentionMs < RETENTION_MS_MIN) {
    refuseValue(`a retention of ${retentionMs} ms is under ${RETENTION_MS_MIN}`);
  }
}

/** What two items of a batch may share. */
export interface RoundItem {
  readonly key: RecordKey;
  readonly object?: ObjectRef | null;
  readonly note?: NoteInput | null;
}

/**
 * Splits a batch into rounds of indexes. Within a round no key, object or note occurs twice, so a
 * store may process a round in any order; rounds run one after another.
 */
export function rounds(items: readonly RoundItem[]): number[][] {
  const all: number[][] = [];
  const nextOf = new Map<string, number>();
  for (const [index, { key, object, note }] of items.entries()) {
    const names = [`r ${key}`];
    if (object) names.push(`o ${object.bucket} ${object.key}`);
    if (note) names.push(`n ${note.kind} ${note.name}`);
    const round = Math.max(...names.map((name) => nextOf.get(name) ?? 0));
    for (const name of names) nextOf.set(name, round + 1);
    all[round] ??= [];
    all[round].push(index);
  }
  return all;
}
