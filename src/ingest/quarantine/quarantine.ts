// Quarantine: the rows of an object that its schema rejects, kept apart while the others commit.
//   Q1. Every row of an object is either given to the handler or quarantined, never both.
//   Q2. The rows of one attempt are a set. It is stored as notes of the ledger before the commit,
//       under a name of its own, and the commit refers to it. A set that no commit refers to does
//       not exist: it is neither listed nor redriven, and it expires.
//   Q3. A redrive is a message to the pipeline's queue that refers to a set. It is a record of its
//       own, with a key derived from the set, so a set is committed again once, however often its
//       message is sent or delivered.
//   Q4. Redriven rows are added to the object's version that they came from. If a newer version
//       was applied, they change nothing.
//   Q5. Rows that are rejected again form the set of the redriven record. Nothing redrives by
//       itself, so a row that is always rejected stays in quarantine, and its tries are counted.
//   Q6. A set ends with the commit of its redrive, or when it is dropped. Notes that stay behind
//       are not listed.

import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
} from "../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import { asObject } from "../../core/events/problem.ts";
import type { EpochMs } from "../../core/units.ts";
import { NOTE_CHARS_MAX } from "../../ledger/batches.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { PermanentError } from "../spec/handler-errors.ts";

/** Quarantined rows per record; with more, the whole object is dead-lettered. */
export const QUARANTINED_ROWS_MAX = 10_000;
/** Their characters, which are in memory until the commit. */
const QUARANTINED_CHARS_MAX = 16_777_216;
const REASON_CHARS_MAX = 1_000;
/** Leaves space for the fields around the rows. */
const CHUNK_CHARS_MAX = NOTE_CHARS_MAX - 32_768;
const CHUNK_DIGITS = 4;
const SET_CHARS = 24;
const COUNT_MAX = 9_999;

/** A row that the schema rejected. */
export interface BadRow {
  /** As errors count it: the line of the file, or the position of the row. */
  readonly line: number;
  readonly unit: "line" | "row";
  /** What the schema rejects, without masked values. */
  readonly reason: string;
  /** As it was read. Mask it before showing it. */
  readonly row: JsonObject;
}

/** A stored set: the record whose commit refers to it, its name, and its number of notes. */
export interface QuarantineRef {
  readonly of: RecordKey;
  readonly set: string;
  readonly chunks: number;
  /** How often the rows were tried, the first time included. */
  readonly tries: number;
}

/** What a set stores in addition to its rows. */
export interface QuarantineFacts {
  readonly event: ObjectEvent;
  /** The object as reports show it. */
  readonly shown: { readonly bucket: string; readonly key: string };
  readonly queue: string;
  readonly group: string | null;
  /** Paths to mask in rows. */
  readonly mask: readonly string[];
  /** How often the rows were tried, the first time included. */
  readonly tries: number;
}

/** The body of one note. */
export interface QuarantineChunk extends QuarantineFacts {
  readonly rows: readonly BadRow[];
}

/** Collects the rows that one attempt quarantines. */
export class BadRows {
  readonly #rows = new Map<string, BadRow>();
  #chars = 0;

  get rows(): readonly BadRow[] {
    return [...this.#rows.values()];
  }

  /** A handler that reads an object twice meets the same rows again. */
  add(bad: BadRow): void {
    const position = `${bad.unit} ${bad.line}`;
    if (this.#rows.has(position)) return;
    const reason = bad.reason.slice(0, REASON_CHARS_MAX).toWellFormed();
    const chars = JSON.stringify(bad.row).length + reason.length;
    this.#chars += chars;
    if (chars > CHUNK_CHARS_MAX) tooMuch(`${position} is too large for quarantine`, reason);
    if (this.#rows.size >= QUARANTINED_ROWS_MAX) {
      tooMuch(`more than ${QUARANTINED_ROWS_MAX} rows break the schema`, `${position}: ${reason}`);
    }
    if (this.#chars > QUARANTINED_CHARS_MAX) {
      tooMuch("the rows that break the schema are too large for quarantine", reason);
    }
    this.#rows.set(position, { ...bad, reason });
  }
}

function tooMuch(what: string, reason: string): never {
  throw new PermanentError(`${what}; the last one: ${reason}`, { class: "schema" });
}

/** The notes of a set, and the reference to it. */
export function quarantineNotes(
  of: RecordKey,
  rows: readonly BadRow[],
  facts: QuarantineFacts,
  attempt: { readonly owner: string; readonly startedAt: EpochMs; readonly now: EpochMs },
): { readonly ref: QuarantineRef; readonly notes: readonly NoteInput[] } {
  const bodies = bodiesOf(rows, facts);
  const { owner, startedAt, now } = attempt;
  const content = [of, owner, String(startedAt), ...bodies];
  const set = sha256Hex(JSON.stringify(content)).slice(0, SET_CHARS); // Q2
  const ref = { of, set, chunks: bodies.length, tries: facts.tries };
  const names = chunkNames(ref);
  const notes = bodies.map(
    (body, at): NoteInput => ({
      kind: "quarantined",
      name: names[at] ?? "",
      at: now,
      count: 1,
      body,
    }),
  );
  return { ref, notes };
}

function bodiesOf(rows: readonly BadRow[], facts: QuarantineFacts): string[] {
  const bodies: string[] = [];
  let chunk: BadRow[] = [];
  let chars = 0;
  const end = () => void bodies.push(JSON.stringify({ ...facts, rows: chunk }));
  for (const row of rows) {
    const size = JSON.stringify(row).length;
    if (chunk.length > 0 && chars + size > CHUNK_CHARS_MAX) {
      end();
      [chunk, chars] = [[], 0];
    }
    chunk.push(row);
    chars += size;
  }
  end();
  return bodies;
}

/** The names of a set's notes, in order. */
export function chunkNames({ of, set, chunks }: QuarantineRef): string[] {
  return Array.from(
    { length: chunks },
    (_, at) => `${of}/${set}/${String(at).padStart(CHUNK_DIGITS, "0")}`,
  );
}

/** The record and the set that the name of a note belongs to. */
export function parseChunkName(name: string): { readonly of: RecordKey; readonly set: string } {
  const [of = "", set = ""] = name.split("/");
  return { of: asRecordKey(of), set };
}

export function decodeChunk(body: string): QuarantineChunk {
  return JSON.parse(body) as QuarantineChunk;
}

/** The field of an object event that makes it the redrive of a set (Q3). */
const FIELD = "quarantine";

/** The body of the message that redrives a set. */
export function redriveBody(event: ObjectEvent, ref: QuarantineRef): string {
  const { of, set, chunks, tries } = ref;
  return canonicalJson({ ...event, [FIELD]: { of, set, chunks, tries } });
}

/** The set that an object event redrives; null for an event of S3. */
export function redrivenSet(event: ObjectEvent): QuarantineRef | null {
  const { of, set, chunks, tries } = asObject(event[FIELD] ?? null) ?? {};
  if (typeof of !== "string" || typeof set !== "string") return null;
  if (!isCount(chunks) || !isCount(tries)) return null;
  return { of: asRecordKey(of), set, chunks, tries };
}

function isCount(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= COUNT_MAX;
}

/** The event without the reference, as handlers get it. */
export function withoutSet(event: ObjectEvent): ObjectEvent {
  const { [FIELD]: _, ...rest } = event;
  return rest as ObjectEvent;
}

/** The identity of a set's redrive (Q3). */
export function redriveIdentity({ of, set }: Pick<QuarantineRef, "of" | "set">): string {
  return `quarantine:${of}/${set}`;
}

/** The record of a set's redrive. */
export function redriveKey(scope: LedgerScope, ref: Pick<QuarantineRef, "of" | "set">): RecordKey {
  return recordKey(scope, redriveIdentity(ref));
}
