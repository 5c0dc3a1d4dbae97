// Note rows: notes in a map, by the rule of ledger/notes.ts.

import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import type { DurationMs } from "../../core/units.ts";
import type { NoteStore } from "../../ledger/note-calls.ts";
import { liveNote, mergeNote, noteId, type StoredNote } from "../../ledger/notes.ts";
import type { LedgerInstant, LedgerTime } from "../../ledger/store-time.ts";
import type { NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";

/** Adds to a note by the rule of ledger/notes.ts. */
export function addNote(
  notes: Map<string, StoredNote>,
  note: NoteInput,
  time: LedgerInstant & { readonly retentionMs: DurationMs },
): void {
  const id = noteId(note);
  notes.set(id, mergeNote(notes.get(id) ?? null, note, time));
}

/** One map per scope, by `noteId`. */
export function createMemoryNoteStore(
  notesOf: (scope: LedgerScope) => Map<string, StoredNote>,
  time: LedgerTime,
  retentionMs: DurationMs,
): NoteStore {
  return {
    async add(scope, added) {
      const at = { ...time.read(), retentionMs };
      for (const note of added) addNote(notesOf(scope), note, at);
    },
    find: async (scope, kind, name) =>
      liveNote(notesOf(scope).get(noteId({ kind, name })) ?? null, time.read().expiry),
    async list(scope, kind, { after, limit }) {
      const { expiry } = time.read();
      return [...notesOf(scope).values()]
        .filter((note) => note.kind === kind && liveNote(note, expiry) !== null)
        .filter(({ name }) => after === null || compareUtf8(name, after) > 0)
        .sort((a, b) => compareUtf8(a.name, b.name))
        .slice(0, limit);
    },
    async remove(scope, kind, names) {
      for (const name of names) notesOf(scope).delete(noteId({ kind, name }));
    },
  };
}
