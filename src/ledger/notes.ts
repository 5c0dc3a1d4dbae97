// Notes: small named texts beside the records of a scope, such as the dossier of a dead letter, a
// count of suppressed duplicates, or a watermark.
//   N1. One rule for every kind and every store: counts add up; instant and body are replaced if
//       and only if the addition is not older than the stored note.
//   N2. An expired note is an absent one, whether or not its row still exists. Every addition
//       extends a note by another retention. A held note does not expire: it is the only copy of
//       a message. Nor does a pause: only its operator ends it.
//   N3. Adding notes one by one or folded beforehand has the same result, so a store sees each name
//       at most once per batch.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs, days } from "../core/units.ts";
import type { Note, NoteInput, NoteKind } from "../ports/ledger.ts";
import type { LedgerInstant } from "./store-time.ts";

export const NOTE_KINDS = [
  "audit",
  "dossier",
  "duplicates",
  "edited",
  "halted",
  "held",
  "partitions",
  "paused",
  "quarantined",
  "replay",
  "tried",
  "watermark",
] as const satisfies readonly NoteKind[];

/** A note as stored. */
export interface StoredNote extends Note {
  readonly expiresAt: EpochMs;
}

/** Merges two notes of the same name; `added` came later (N1). */
export function sumNotes(previous: NoteInput, added: NoteInput): NoteInput {
  const { kind, name } = previous;
  const { at, body } = added.at >= previous.at ? added : previous;
  return { kind, name, at, count: previous.count + added.count, body };
}

/** The note to store after `added` (N1). */
export function mergeNote(
  stored: StoredNote | null,
  added: NoteInput,
  time: LedgerInstant & { readonly retentionMs: DurationMs },
): StoredNote {
  const previous = liveNote(stored, time.expiry);
  const { kind, name, at, count, body } = previous === null ? added : sumNotes(previous, added);
  return { kind, name, at, count, body, expiresAt: noteExpiry(kind, time) };
}

/** As good as never, and still an instant that every store can save. */
const HELD_MS: DurationMs = days(36_500);
const LASTING: ReadonlySet<NoteKind> = new Set(["held", "paused"]);

/** When a note expires that is added now (N2). */
export function noteExpiry(
  kind: NoteKind,
  { now, retentionMs }: { readonly now: EpochMs; readonly retentionMs: DurationMs },
): EpochMs {
  return addMs(now, LASTING.has(kind) ? HELD_MS : retentionMs);
}

/** The note as of `expiry`, or null if it is missing or expired (N2). */
export function liveNote(stored: StoredNote | null, expiry: EpochMs): StoredNote | null {
  return stored !== null && stored.expiresAt > expiry ? stored : null;
}

/** A note as readers get it. */
export function noteOf({ kind, name, at, count, body }: StoredNote): Note {
  return { kind, name, at, count, body };
}

/** Kind and name as one string, for maps; a kind contains no space. */
export function noteId({ kind, name }: { readonly kind: NoteKind; readonly name: string }): string {
  return `${kind} ${name}`;
}

/** The same notes with each name once, in the order of first occurrence (N3). */
export function foldNotes(notes: readonly NoteInput[]): NoteInput[] {
  const folded = new Map<string, NoteInput>();
  for (const note of notes) {
    const id = noteId(note);
    const previous = folded.get(id);
    folded.set(id, previous === undefined ? note : sumNotes(previous, note));
  }
  return [...folded.values()];
}
