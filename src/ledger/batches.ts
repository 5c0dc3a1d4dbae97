// Ledger batches: the checks that every store makes before it writes, and the split of a batch into
// rounds, so that a record sees the changes of earlier records with the same key or object.

import { TidegateError } from "../core/errors.ts";
import { FAILURE_MESSAGE_CHARS_MAX } from "../core/limits.ts";
import type { NoteInput, NoteKind, NotePage } from "../ports/ledger.ts";
import type { Failure, LedgerScope, ObjectRef, RecordKey } from "../ports/record.ts";
import { NOTE_KINDS } from "./notes.ts";
import { LEASE_MS_MAX, RETENTION_MS_MIN } from "./record-state.ts";

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
const NAME_CHARS_MAX = 256;
const OBJECT_KEY_BYTES_MAX = 1_024;
const PIPELINE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const SEQUENCER = /^[0-9A-Fa-f]{1,128}$/;

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
  readonly note?: NoteInput;
}

function refuse(message: string): never {
  throw new TidegateError("TG_VALUE_INVALID", message);
}

const MAY_BE_EMPTY: ReadonlySet<string> = new Set(["effects", "body of a note"]);

function checkText(what: string, text: string | undefined, charsMax: number): void {
  if (text === undefined) return;
  if (text.length === 0 && !MAY_BE_EMPTY.has(what)) refuse(`the ${what} is empty`);
  if (text.length > charsMax) refuse(`the ${what} has ${text.length} characters, over ${charsMax}`);
  checkCharacters(what, text);
}

/** Rejects what not every store can save: NUL characters and unpaired surrogates. */
function checkCharacters(what: string, text: string): void {
  if (text.includes("\0")) refuse(`the ${what} contains a NUL character`);
  if (!text.isWellFormed()) refuse(`the ${what} is not well-formed Unicode`);
}

function checkInstant(what: string, value: number | null | undefined): void {
  if (value === undefined || value === null) return;
  if (!Number.isSafeInteger(value) || value < 0) refuse(`the ${what} ${value} is out of range`);
}

function checkFailure(failure: Failure): void {
  checkText("error class", failure.errorClass, NAME_CHARS_MAX);
  checkText("fingerprint", failure.fingerprint, NAME_CHARS_MAX);
  if (failure.message.length > FAILURE_MESSAGE_CHARS_MAX) {
    refuse(`the failure's message is over ${FAILURE_MESSAGE_CHARS_MAX} characters`);
  }
}

function checkObject(object: ObjectRef): void {
  const { bucket, key, sequencer } = object;
  if (bucket === "" || key === "") refuse("an object needs a bucket and a key");
  checkCharacters("bucket", bucket);
  checkCharacters("object key", key);
  if (Buffer.byteLength(key) > OBJECT_KEY_BYTES_MAX) {
    refuse(`the object key is over ${OBJECT_KEY_BYTES_MAX} bytes`);
  }
  if (sequencer !== null && !SEQUENCER.test(sequencer)) {
    refuse(`the sequencer ${JSON.stringify(sequencer)} is not hexadecimal`);
  }
}

export function checkScope(scope: LedgerScope): void {
  const { pipeline, generation } = scope;
  if (!PIPELINE.test(pipeline)) {
    refuse(`the pipeline ${JSON.stringify(pipeline)} must match ${PIPELINE.source}`);
  }
  if (!Number.isSafeInteger(generation) || generation < 0) {
    refuse(`the generation ${generation} is not a whole number from 0`);
  }
}

export function checkNoteKind(kind: NoteKind): void {
  if (!NOTE_KINDS.includes(kind)) refuse(`unknown kind of note ${JSON.stringify(kind)}`);
}

export function checkNoteName(name: string): void {
  checkText("name of a note", name, NOTE_NAME_CHARS_MAX);
}

function checkNote({ kind, name, at, count, body }: NoteInput): void {
  checkNoteKind(kind);
  checkNoteName(name);
  checkInstant("time of a note", at);
  checkText("body of a note", body, NOTE_CHARS_MAX);
  if (!Number.isSafeInteger(count) || count < 0 || count > NOTE_COUNT_MAX) {
    refuse(`the count ${count} of a note must be a whole number from 0 to ${NOTE_COUNT_MAX}`);
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
    refuse(`a page of ${limit} notes is outside 1 to ${NOTE_PAGE_MAX}`);
  }
}

function checkBatchSize(what: string, size: number): void {
  if (size > LEDGER_BATCH_MAX) refuse(`a batch of ${size} ${what} is over ${LEDGER_BATCH_MAX}`);
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
    checkText("record key", item.key, RECORD_KEY_CHARS_MAX);
    checkText("owner", item.owner, OWNER_CHARS_MAX);
    checkText("digest", item.digest, DIGEST_CHARS_MAX);
    checkText("effects", item.effects, EFFECTS_CHARS_MAX);
    checkInstant("fence", item.fence);
    checkInstant("time of receipt", item.receivedAt);
    checkInstant("time of start", item.startedAt);
    if (item.failure !== undefined) checkFailure(item.failure);
    if (item.object !== undefined) checkObject(item.object);
    if (item.note !== undefined) checkNote(item.note);
    if (item.writes !== undefined && item.writes.length > 0 && !store.takesWrites) {
      refuse("this ledger's store cannot commit sink writes; use a SQLite or PostgreSQL ledger");
    }
  }
}

export function checkLease(leaseMs: number, owner?: string): void {
  checkText("owner", owner, OWNER_CHARS_MAX);
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 1 || leaseMs > LEASE_MS_MAX) {
    refuse(`a lease of ${leaseMs} ms is outside 1 to ${LEASE_MS_MAX}`);
  }
}

export function checkRetention(retentionMs: number): void {
  if (!Number.isSafeInteger(retentionMs) || retentionMs < RETENTION_MS_MIN) {
    refuse(`a retention of ${retentionMs} ms is under ${RETENTION_MS_MIN}`);
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
