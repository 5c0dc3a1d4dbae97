// Settled record: whether a record that was returned needs no further attempt, by what the ledger
// says.
//   S1. A parked record has a note, which holds `completeUpTo` back instead. Where it halted its
//       group, its message stays hidden, so it stays accounted for until it is due or dropped,
//       which removes its failure report.

import { compareSequencers } from "../../core/events/sequencer.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { Returned } from "./returned-records.ts";

/**
 * True if the record is committed, dead-lettered, held or dropped, or if a newer event of its
 * object was applied.
 */
export async function isSettled(
  ledger: Ledger,
  scope: LedgerScope,
  [key, { object, until }]: readonly [RecordKey, Returned],
  now: EpochMs,
): Promise<boolean> {
  const kind = (await ledger.show(scope, key))?.record.kind;
  if (kind === "committed") return true;
  if (kind === "parked") {
    return until <= now || (await ledger.findNote(scope, "dossier", key)) === undefined; // S1
  }
  if (object === null || object.sequencer === null) return false;
  const applied = await ledger.showObject(scope, object.bucket, object.key);
  return applied !== undefined && compareSequencers(object.sequencer, applied.sequencer) < 0;
}
