// Every note: reads all notes of a kind, page by page. It has no limit, because a list that ends
// early without saying so looks complete: a held record would not hold completeness back, and a
// redrive would leave dead letters behind. Callers that want only some stop reading.

import type { Ledger, Note, NoteKind } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";

const NOTES_PER_PAGE = 100;

/** The notes of a kind, in the byte order of their names; those after a name if one is given. */
export async function* everyNote(
  ledger: Pick<Ledger, "listNotes">,
  scope: LedgerScope,
  kind: NoteKind,
  start: string | null = null,
): AsyncGenerator<Note> {
  for (let after = start; ; ) {
    const page: Note[] = await ledger.listNotes(scope, kind, { after, limit: NOTES_PER_PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < NOTES_PER_PAGE) return;
    after = last.name;
  }
}
