// Tried note: by which an event is found by its object while it is still being tried. The ledger
// knows objects by what was applied to them, and dossiers by what was given up on; in between it
// knows records by their keys alone.
//   J1. A note is written with the claim or the failure it is about, in the same atomic write: the
//       first delivery of what goes well costs nothing, and nothing is noted that did not happen.
//   J2. Its name begins with a digest of the object's key, so that those of one object lie together
//       and are read without looking at any other. The key itself, which may be nobody's to see, is
//       not in it, though whoever guesses it can tell; the bucket is, as it is.
//   J3. It stays when the record is done, and ends with the ledger's memory of it.

import { sha256Hex } from "../../core/encoding/hash.ts";
import type { EpochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Ledger, NoteInput } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { WorkRecord } from "../stages/decode.ts";

const DIGEST_CHARS = 32;
const NOTES_PER_PAGE = 100;
/** Events of one object that are told of. */
const FOUND_MAX = 1_000;

interface TriedBody {
  readonly bucket: string;
}

/** An object's key in notes and dossiers that must not show it (J2). */
export function objectDigest(key: string): string {
  return sha256Hex(key).slice(0, DIGEST_CHARS);
}

/** What to write beside a claim or a failure; null where there is no object (J1). */
export function triedNote({ key, object }: WorkRecord, at: EpochMs): NoteInput | null {
  if (object === null) return null;
  const body: TriedBody = { bucket: object.bucket };
  const name = `${objectDigest(object.key)} ${key}`;
  return { kind: "tried", name, at, count: 1, body: JSON.stringify(body) };
}

/** The records of an object that were tried more than once; of any bucket if none is named. */
export async function findTried(
  ledger: Ledger,
  scope: LedgerScope,
  object: { readonly bucket: string | null; readonly key: string },
): Promise<{ readonly key: RecordKey; readonly bucket: string }[]> {
  const prefix = `${objectDigest(object.key)} `;
  const found: { key: RecordKey; bucket: string }[] = [];
  let after = prefix;
  for (let read = 0; read < FOUND_MAX; read += NOTES_PER_PAGE) {
    const limit = NOTES_PER_PAGE;
    const page = await ledger.listNotes(scope, "tried", { after, limit });
    for (const { name, body } of page) {
      if (!name.startsWith(prefix)) return found;
      const { bucket } = JSON.parse(body) as TriedBody;
      const meant = object.bucket === null || object.bucket === bucket;
      if (meant) found.push({ key: asRecordKey(name.slice(prefix.length)), bucket });
      after = name;
    }
    if (page.length < limit) return found;
  }
  return found;
}
