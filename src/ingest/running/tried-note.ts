// Tried note: finds an event by its object while it is still being retried. The ledger indexes
// applied events by object, and dossiers have the objects of dead-lettered ones; records in between
// are indexed by record key only.
//   J1. A note is part of the same atomic write as the claim or the failure it describes. A first
//       delivery that succeeds writes no note, and no note describes an attempt that never
//       happened.
//   J2. Its name starts with a digest of the object's key, so that the notes of one object are
//       adjacent and can be read alone. The key, which may be secret, is not stored, although a
//       guess can be verified; the bucket is stored as it is.
//   J3. The note stays when the record is done, and expires with the record.

import { sha256Hex } from "../../core/encoding/hash.ts";
import type { EpochMs } from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Ledger, NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { WorkRecord } from "../stages/decode.ts";

const DIGEST_CHARS = 32;

interface TriedBody {
  readonly bucket: string;
}

/** Stands for an object's key in notes and dossiers that must not contain it (J2). */
export function objectDigest(key: string): string {
  return sha256Hex(key).slice(0, DIGEST_CHARS);
}

/** The note to write with a claim or a failure; null without an object (J1). */
export function triedNote({ key, object }: WorkRecord, at: EpochMs): NoteInput | null {
  if (object === null) return null;
  const body: TriedBody = { bucket: object.bucket };
  const name = `${objectDigest(object.key)} ${key}`;
  return { kind: "tried", name, at, count: 1, body: JSON.stringify(body) };
}

/** The records of an object that were tried more than once; in any bucket if it is null. */
export async function findTried(
  ledger: Ledger,
  scope: LedgerScope,
  object: { readonly bucket: string | null; readonly key: string },
): Promise<{ readonly key: RecordKey; readonly bucket: string }[]> {
  const prefix = `${objectDigest(object.key)} `;
  const matches: { key: RecordKey; bucket: string }[] = [];
  for await (const { name, body } of everyNote(ledger, scope, "tried", prefix)) {
    if (!name.startsWith(prefix)) break; // J2
    const { bucket } = JSON.parse(body) as TriedBody;
    const wanted = object.bucket === null || object.bucket === bucket;
    if (wanted) matches.push({ key: asRecordKey(name.slice(prefix.length)), bucket });
  }
  return matches;
}
