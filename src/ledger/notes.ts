// Note: a small named text beside the records of a scope, such as the dossier of a dead letter, a
// count of suppressed duplicates, or a watermark.
//   N1. One rule for every kind and every store: counts add up; instant and body are replaced if
//       and only if what is added is not older than what is there.
//   N2. An expired note is an absent one, whether or not its row is still there; whatever is added
//       to a note keeps it for another retention.
//   N3. Adding notes one by one or folded beforehand comes to the same, so that a store sees each
//       name at most once per batch.

import type { DurationMs, EpochMs } from "../core/units.ts";
import { addMs } from "../core/units.ts";
import type { Note, NoteInput, NoteKind } from "../ports/ledger.ts";

export const NOTE_KINDS = [
  "dossier",
  "duplicates",
  "tried",
  "watermark",
] as const satisfies readonly NoteKind[];

/** A note as a store keeps it. */
export interface StoredNote extends Note {
  readonly expiresAt: EpochMs;
}

/** Sums up two notes of the same name, of which `added` came later (N1). */
export function sumNotes(former: NoteInput, added: NoteInput): NoteInput {
  const { kind, name } = former;
  const { at, body } = added.at >= former.at ? added : former;
  return { kind, name, at, count: former.count + added.count, body };
}

/** What to keep of a name once `added` has come to it. */
export function mergeNote(
  stored: StoredNote | null,
  added: NoteInput,
  time: { readonly now: EpochMs; readonly retentionMs: DurationMs },
): StoredNote {
  const former = liveNote(stored, time.now);
  const { kind, name, at, count, body } = former === null ? added : sumNotes(former, added);
  return { kind, name, at, count, body, expiresAt: addMs(time.now, time.retentionMs) }; // N2
}

/** The note as of `now`, or null if there is none or it has expired (N2). */
export function liveNote(stored: StoredNote | null, now: EpochMs): StoredNote | null {
  return stored !== null && stored.expiresAt > now ? stored : null;
}

/** What a reader is told of a note. */
export function noteOf({ kind, name, at, count, body }: StoredNote): Note {
  return { kind, name, at, count, body };
}

/** Kind and name as one string, for maps: a kind holds no blank. */
export function noteId({ kind, name }: { readonly kind: NoteKind; readonly name: string }): string {
  return `${kind} ${name}`;
}

/** The same notes with each name once, in the order of their first mention (N3). */
export function foldNotes(notes: readonly NoteInput[]): NoteInput[] {
  const folded = new Map<string, NoteInput>();
  for (const note of notes) {
    const id = noteId(note);
    const former = folded.get(id);
    folded.set(id, former === undefined ? note : sumNotes(former, note));
  }
  return [...folded.values()];
}
