// Duplicate list: the records with the most suppressed duplicates, for `tidegate records
// duplicates`.
//   D1. It reads the counts of all records, a page at a time, and keeps as many as it shows.
//   D2. The message of the latest duplicate says where duplicates come from: the record's own
//       message was redelivered, or another message has the same event.

import type { EpochMs } from "../../core/units.ts";
import { namesOf } from "../../ledger/search-records.ts";
import { lastDuplicate } from "../../operate/history/last-duplicate.ts";
import type { Ledger, Note } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";

const NOTES_PER_PAGE = 1_000;

export interface DuplicatedRecord {
  readonly key: string;
  readonly name: string;
  readonly duplicates: number;
  readonly lastAt: EpochMs;
  /** Of the latest duplicate; null if an older version wrote it. */
  readonly messageId: string | null;
  readonly receiveCount: number | null;
  /** Whether the latest duplicate is the record's own message, delivered again (D2). */
  readonly sameMessage: boolean | null;
}

export async function listDuplicates(
  ledger: Ledger,
  scope: LedgerScope,
  limit: number,
): Promise<DuplicatedRecord[]> {
  const most: Note[] = [];
  let after: string | null = null;
  do {
    const page = { after, limit: NOTES_PER_PAGE };
    const notes: Note[] = await ledger.listNotes(scope, "duplicates", page);
    most.push(...notes);
    most.sort((a, b) => b.count - a.count || b.at - a.at);
    most.splice(limit); // D1
    after = notes.length < NOTES_PER_PAGE ? null : (notes.at(-1)?.name ?? null);
  } while (after !== null);
  return Promise.all(most.map((note) => recordOf(ledger, scope, note)));
}

async function recordOf(ledger: Ledger, scope: LedgerScope, note: Note): Promise<DuplicatedRecord> {
  const view = await ledger.show(scope, note.name as RecordKey);
  const { messageId, receiveCount } = lastDuplicate(note.body);
  const own = view?.input.messageId ?? null;
  return {
    key: note.name,
    name: (view === undefined ? null : namesOf(view.input)[0]) ?? note.name,
    duplicates: note.count,
    lastAt: note.at,
    messageId,
    receiveCount,
    sameMessage: messageId === null || own === null ? null : messageId === own, // D2
  };
}

export function duplicateLines(record: DuplicatedRecord): string[] {
  const { duplicates, lastAt, name, messageId, sameMessage, receiveCount } = record;
  const which =
    sameMessage === null
      ? "of an unknown message"
      : sameMessage
        ? `its own message, receive ${receiveCount}`
        : `another message, ${messageId}`;
  const time = new Date(lastAt).toISOString();
  return [`${String(duplicates).padStart(6)}  ${name}`, `        the last at ${time}: ${which}`];
}
