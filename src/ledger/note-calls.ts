// Note calls: the ledger's methods for notes on top of a store's four. The checks and the folding
// of a batch are the same everywhere.

import type { Note, NoteInput, NoteKind, NotePage } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import {
  checkNoteKind,
  checkNoteName,
  checkNoteNames,
  checkNotePage,
  checkNotes,
  checkScope,
} from "./batches.ts";
import { foldNotes, noteOf, type StoredNote } from "./notes.ts";

/** What a store implements for notes. No call is empty or contains a name twice. */
export interface NoteStore {
  /** Adds each note by the rule of ledger/notes.ts, each in its own atomic write. */
  add(scope: LedgerScope, notes: readonly NoteInput[]): Promise<void>;
  /** The live note with that name. */
  find(scope: LedgerScope, kind: NoteKind, name: string): Promise<StoredNote | null>;
  /** Live notes in the byte order of their names. */
  list(scope: LedgerScope, kind: NoteKind, page: NotePage): Promise<StoredNote[]>;
  remove(scope: LedgerScope, kind: NoteKind, names: readonly string[]): Promise<void>;
}

/** The methods that read and change notes. */
export function noteCalls(store: NoteStore) {
  return {
    async addNotes(scope: LedgerScope, notes: readonly NoteInput[]): Promise<void> {
      checkNotes(scope, notes);
      if (notes.length > 0) await store.add(scope, foldNotes(notes));
    },
    async findNote(scope: LedgerScope, kind: NoteKind, name: string): Promise<Note | undefined> {
      checkScope(scope);
      checkNoteKind(kind);
      checkNoteName(name);
      const note = await store.find(scope, kind, name);
      return note === null ? undefined : noteOf(note);
    },
    async listNotes(scope: LedgerScope, kind: NoteKind, page: NotePage): Promise<Note[]> {
      checkScope(scope);
      checkNoteKind(kind);
      checkNotePage(page);
      return (await store.list(scope, kind, page)).map(noteOf);
    },
    async removeNotes(scope: LedgerScope, kind: NoteKind, names: readonly string[]): Promise<void> {
      checkScope(scope);
      checkNoteKind(kind);
      checkNoteNames(names);
      if (names.length > 0) await store.remove(scope, kind, [...new Set(names)]);
    },
  };
}
