// Sweep held: removes held notes that are no longer needed. Held notes never expire by themselves.
//   S1. The note of a record that is committed is removed: the record was released and is done.
//   S2. A part that no note names is left over from an attempt that crashed. It is removed after a
//       day, when no attempt can still be about to write its note.

import { type DurationMs, days, msBetween } from "../../core/units.ts";
import { everyNote } from "../../ledger/every-note.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type HeldNote, isPart, removeHeld } from "./held-note.ts";

const LEFT_OVER_MS: DurationMs = days(1);

/** Removes them, and returns how many records are still held. */
export async function sweepHeld(
  { clock, ledger }: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
): Promise<number> {
  let held = 0;
  for await (const note of everyNote(ledger, scope, "held")) {
    if (isPart(note)) {
      const key = asRecordKey(note.name.slice(0, note.name.indexOf(" ")));
      const isOld = msBetween(note.at, clock.now()) >= LEFT_OVER_MS;
      const isNamed = (await ledger.findNote(scope, "held", key)) !== undefined;
      if (isOld && !isNamed) await ledger.removeNotes(scope, "held", [note.name]); // S2
      continue;
    }
    const body = JSON.parse(note.body) as HeldNote;
    const view = await ledger.show(scope, body.record_key);
    if (view?.record.kind === "committed")
      await removeHeld(ledger, scope, body); // S1
    else held += 1;
  }
  return held;
}
