// Settled record: whether a record that was returned needs no further attempt, by what the ledger
// says.
//   S1. A parked record has a note, which holds `completeUpTo` back instead. Where it halted its
//       group, its message stays hidden, so it stays accounted for until it is due or dropped,
//       which removes its failure report.
//   S2. A record that a newer event of its object overtook is settled when a claim is refused, and
//       the ledger does not keep that. So it counts as settled OVERTAKEN_MS after it is due.

import { compareSequencers } from "../../core/events/sequencer.ts";
import { addMs, type DurationMs, type EpochMs, minutes } from "../../core/units.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { Returned } from "./returned-records.ts";

/** S2 */
const OVERTAKEN_MS: DurationMs = minutes(15);

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
  if (object === null || object.sequencer === null || now < addMs(until, OVERTAKEN_MS))
    return false;
  const applied = await ledger.showObject(scope, object.bucket, object.key);
  return applied !== undefined && compareSequencers(object.sequencer, applied.sequencer) < 0; // S2
}
