// Settled record: whether a record needs no further attempt, by what the ledger says.

import { compareSequencers } from "../../core/events/sequencer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, ObjectRef, RecordKey } from "../../ports/record.ts";

/**
 * True if the record is committed, dead-lettered, held or dropped, or if a newer event of its
 * object was applied. Dead letters and held records have notes of their own.
 */
export async function isSettled(
  ledger: Ledger,
  scope: LedgerScope,
  key: RecordKey,
  object: ObjectRef | null,
): Promise<boolean> {
  const kind = (await ledger.show(scope, key))?.record.kind;
  if (kind === "committed" || kind === "parked") return true;
  if (object === null || object.sequencer === null) return false;
  const applied = await ledger.showObject(scope, object.bucket, object.key);
  return applied !== undefined && compareSequencers(object.sequencer, applied.sequencer) < 0;
}
