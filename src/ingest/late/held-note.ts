// Held note: a record that is too late, as the ledger keeps it beside the parked record.
//   N1. The note is written in the same atomic step as the parked state. A parked record whose
//       failure has the class and the fingerprint below has such a note, or had one.
//   N2. A note contains the whole message, unmasked, because it is the only copy after the
//       acknowledgement. What lists show of it is masked.
//   N3. A message over PART_CHARS_MAX is split. Its parts are notes of their own, written before
//       the note that names them; parts that no note names are overwritten by the next attempt.
//   N4. A record that was sent to a queue needs no copy: its note names the queue and the message.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import type { Ledger, Note, NoteInput } from "../../ports/ledger.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import type { Failure, LaneDecision, LedgerScope, RecordKey } from "../../ports/record.ts";

/** Recognises a parked record that is held, not dead-lettered (N1). */
export const HELD_FAILURE: Failure = {
  errorClass: "too-late",
  fingerprint: "late-lane",
  message: "too late; held by the late lane",
};

export function isHeldFailure({ errorClass, fingerprint }: Failure): boolean {
  return errorClass === HELD_FAILURE.errorClass && fingerprint === HELD_FAILURE.fingerprint;
}

/** The parts of a delivery that make it a message again. */
export type HeldMessage = Pick<Delivery, "body" | "attributes" | "groupId" | "messageId">;

export interface HeldNote {
  readonly v: 1;
  readonly record_key: RecordKey;
  readonly idempotency_key: string;
  /** Masked `s3://bucket/key`, or the masked business key; null without either. */
  readonly about: string | null;
  readonly event_time: EpochMs;
  readonly lane: LaneDecision["lane"];
  readonly watermark: EpochMs | null;
  readonly held_at: EpochMs;
  /** The queue that the message came from. */
  readonly queue: string;
  /** The business key, if it is an id of the queue; a message that is sent again carries it. */
  readonly transport_key: string | null;
  /** The queue that the record goes to; null if the ledger keeps it. */
  readonly to: string | null;
  /** When a message of this note was sent, to `to` or back to `queue`; null until then. */
  readonly sent_at: EpochMs | null;
  /** Set by a release: from then on the record is processed. */
  readonly released_at: EpochMs | null;
  /** JSON of the message; null if it is in parts, or no longer needed (N4). */
  readonly message: string | null;
  /** How many parts the message has, and the digest of all of them (N3). */
  readonly parts: { readonly count: number; readonly digest: string } | null;
}

/** Three bytes each stay below the 400 KB of a DynamoDB item. */
const PART_CHARS_MAX = 100_000;

/** The JSON of a message, as one text or in parts. */
export function messageParts({ body, attributes, groupId, messageId }: HeldMessage): string[] {
  const text = JSON.stringify({ body, attributes, groupId, messageId });
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + PART_CHARS_MAX);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    parts.push(text.slice(from, end));
    from = end;
  }
  return parts;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The fields of a note that contain a message (N2, N3). */
export function messageFields(parts: readonly string[]): Pick<HeldNote, "message" | "parts"> {
  const [only = "", ...others] = parts;
  if (others.length === 0) return { message: only, parts: null };
  return { message: null, parts: { count: parts.length, digest: sha256Hex(parts.join("")) } };
}

export function heldNote(note: HeldNote, at: EpochMs): NoteInput {
  return { kind: "held", name: note.record_key, at, count: 0, body: JSON.stringify(note) };
}

/** The notes of a split message; none if it is in one piece (N3). */
export function partNotes(key: RecordKey, parts: readonly string[], at: EpochMs): NoteInput[] {
  if (parts.length === 1) return [];
  return parts.map((body, index) => {
    return { kind: "held", name: partName(key, index), at, count: 0, body };
  });
}

/** A record key contains no space, so the name of a part is never that of a record. */
function partName(key: RecordKey, index: number): string {
  return `${key} ${index}`;
}

export function isPart({ name }: Note): boolean {
  return name.includes(" ");
}

export async function findHeld(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
): Promise<{ readonly held: HeldNote; readonly at: EpochMs } | null> {
  const note = await ledger.findNote(scope, "held", key);
  return note === undefined ? null : { held: decodeHeld(note), at: note.at };
}

function decodeHeld({ body }: Note): HeldNote {
  return JSON.parse(body) as HeldNote;
}

/** The held records of a scope, ordered by key. */
export async function* heldOf(
  ledger: Ledger,
  scope: LedgerScope,
): AsyncGenerator<{ readonly held: HeldNote; readonly at: EpochMs }> {
  for await (const note of everyNote(ledger, scope, "held")) {
    if (!isPart(note)) yield { held: decodeHeld(note), at: note.at };
  }
}

/** The message of a held record; throws if a part of it is missing. */
export async function readMessage(
  ledger: Ledger,
  scope: LedgerScope,
  { record_key: key, message, parts }: HeldNote,
): Promise<HeldMessage> {
  if (message !== null) return JSON.parse(message) as HeldMessage;
  const texts: string[] = [];
  for (let index = 0; index < (parts?.count ?? 0); index += 1) {
    const note = await ledger.findNote(scope, "held", partName(key, index));
    texts.push(note?.body ?? "");
  }
  const text = texts.join("");
  if (parts !== null && sha256Hex(text) === parts.digest) return JSON.parse(text) as HeldMessage;
  throw new TidegateError("TG_LEDGER_UNAVAILABLE", `the message of the held record ${key} is gone`);
}

/** Removes the note and its parts: the note last, because it names them. */
export async function removeHeld(
  ledger: Ledger,
  scope: LedgerScope,
  { record_key: key, parts }: HeldNote,
): Promise<void> {
  await removeParts(ledger, scope, key, parts?.count ?? 0);
  await ledger.removeNotes(scope, "held", [key]);
}

export async function removeParts(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
  count: number,
): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => partName(key, index));
  if (names.length > 0) await ledger.removeNotes(scope, "held", names);
}
