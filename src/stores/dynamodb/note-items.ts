// Note items: maps notes to items of the table and back. They have `by` as records do (I1, I2 of
// record-items.ts), and `np` and `nm`, by which the index finds them.

import { present } from "../../core/assert.ts";
import { epochMs } from "../../core/units.ts";
import type { StoredNote } from "../../ledger/notes.ts";
import type { NoteKind } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { DynamoItem } from "./faults.ts";
import { ttlOf, writeOf } from "./record-items.ts";

export interface NoteItemState {
  readonly note: StoredNote | null;
  /** Id of the write that produced the item; null if the item is missing. */
  readonly by: string | null;
}

/** The partition of the index: a scope's notes of one kind. */
export function notePartition({ pipeline, generation }: LedgerScope, kind: NoteKind): string {
  return `${pipeline}#${generation}#${kind}`;
}

// Neither pipelines nor kinds contain a "#"; the name, which may, comes last.
export function notePk(scope: LedgerScope, kind: NoteKind, name: string): string {
  return `n#${notePartition(scope, kind)}#${name}`;
}

export function toNoteItem(scope: LedgerScope, note: StoredNote, by: string): DynamoItem {
  const { kind, name, at, count, body, expiresAt } = note;
  return {
    pk: { S: notePk(scope, kind, name) },
    by: { S: by },
    np: { S: notePartition(scope, kind) },
    nm: { S: name },
    nat: { N: String(at) },
    cnt: { N: String(count) },
    txt: { S: body },
    exp: { N: String(expiresAt) },
    ttl: ttlOf(expiresAt),
  };
}

export function fromNoteItem(kind: NoteKind, item: DynamoItem | undefined): NoteItemState {
  if (item === undefined) return { note: null, by: null };
  const numberIn = (name: string) => Number(present(item[name]?.N, `the number ${name} of a note`));
  const note = {
    kind,
    name: present(item.nm?.S, "the name of a note"),
    at: epochMs(numberIn("nat")),
    count: numberIn("cnt"),
    body: present(item.txt?.S, "the body of a note"),
    expiresAt: epochMs(numberIn("exp")),
  };
  return { note, by: writeOf(item) };
}
