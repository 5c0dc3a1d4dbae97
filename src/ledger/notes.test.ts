import fc from "fast-check";
import { expect, test } from "vitest";
import { days, epochMs } from "../core/units.ts";
import type { NoteInput } from "../ports/ledger.ts";
import type { StoredNote } from "./notes.ts";
import { foldNotes, liveNote, mergeNote, NOTE_KINDS, noteId, noteOf, sumNotes } from "./notes.ts";

const retentionMs = days(1);
const anyNote = (): fc.Arbitrary<NoteInput> =>
  fc.record({
    kind: fc.constantFrom(...NOTE_KINDS),
    name: fc.constantFrom("a", "b"),
    at: fc.nat(5).map(epochMs),
    count: fc.nat(9),
    body: fc.string({ maxLength: 3 }),
  });
const anyNotesOfOne = () =>
  fc.array(
    anyNote().map((note) => ({ ...note, kind: "dossier" as const, name: "a" })),
    { minLength: 1 },
  );
const addAll = (notes: readonly NoteInput[], stored: StoredNote | null = null) =>
  notes.reduce<StoredNote | null>(
    (previous, note) =>
      mergeNote(previous, note, { now: epochMs(0), expiry: epochMs(0), retentionMs }),
    stored,
  );

test("the count is the sum, and the body is that of the last note with the latest instant (N1)", () => {
  fc.assert(
    fc.property(anyNotesOfOne(), (notes) => {
      const at = Math.max(...notes.map((note) => note.at));
      const count = notes.reduce((sum, note) => sum + note.count, 0);
      const body = notes.findLast((note) => note.at === at)?.body;
      expect(addAll(notes)).toMatchObject({ kind: "dossier", name: "a", at, count, body });
    }),
  );
});

test("adding in parts gives the same result as adding one by one (N3)", () => {
  fc.assert(
    fc.property(anyNotesOfOne(), fc.array(fc.nat(9)), (notes, cuts) => {
      const parts: NoteInput[][] = [];
      for (const [at, note] of notes.entries()) {
        if (at === 0 || (cuts[at] ?? 0) > 4) parts.push([]);
        parts.at(-1)?.push(note);
      }
      expect(addAll(parts.flatMap(foldNotes))).toEqual(addAll(notes));
    }),
  );
});

test("a folded batch has every name once, with its whole sum (N3)", () => {
  fc.assert(
    fc.property(fc.array(anyNote()), (notes) => {
      const folded = foldNotes(notes);
      expect(new Set(folded.map(noteId))).toEqual(new Set(notes.map(noteId)));
      expect(new Set(folded.map(noteId)).size).toBe(folded.length);
      for (const note of folded) {
        const [first, ...rest] = notes.filter((other) => noteId(other) === noteId(note));
        expect(first && rest.reduce(sumNotes, first)).toEqual(note);
      }
    }),
  );
});

test("an expired note is ignored, and every addition extends the note (N2)", () => {
  fc.assert(
    fc.property(anyNotesOfOne(), fc.nat(), (notes, ms) => {
      const stored = addAll(notes);
      const now = epochMs(ms % (retentionMs * 2));
      const [added] = notes;
      if (added === undefined || stored === null) return;
      const merged = mergeNote(stored, added, { now, expiry: now, retentionMs });
      const alive = now < retentionMs;
      expect(liveNote(stored, now)).toBe(alive ? stored : null);
      expect(noteOf(merged)).toEqual(alive ? sumNotes(noteOf(stored), added) : added);
      expect(merged.expiresAt).toBe(now + retentionMs);
    }),
  );
});
