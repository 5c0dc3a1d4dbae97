// Rekeyed notes: what became of a dead letter that had no key, once its message has one. Such a
// message is dead-lettered under a hash of its body. After the pipeline was fixed, its redrive runs
// under the business key, and the record of the hash would stay open.
//   Y1. A note points from the record without a key to the one with a key, so that a redrive can
//       follow it. Then the dossier is removed, because the message is no longer dead-lettered
//       under the hash. If it failed again, it has a dossier under its key.
//   Y2. Best effort: a note that cannot be written leaves an old dossier in the list, nothing else.

import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import { REDRIVEN_ATTRIBUTE } from "../dead-letters/dead-letter.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { bodyIdentity } from "../stages/decode-own.ts";
import type { InFlightDelivery } from "./in-flight-delivery.ts";

interface RekeyedBody {
  readonly key: string;
}

const PREFIX = "rekeyed ";

/** Call it when a record is done; resolves when its notes are written. Never rejects. */
export type RekeyedNotes = (record: WorkRecord, inFlight: InFlightDelivery) => Promise<void>;

export function createRekeyedNotes(
  ports: { readonly clock: Clock; readonly ledger: Ledger },
  scope: LedgerScope,
): RekeyedNotes {
  const { clock, ledger } = ports;

  async function write(record: WorkRecord, keyless: RecordKey): Promise<void> {
    const note = await ledger.findNote(scope, "dossier", keyless);
    const view = note === undefined ? undefined : await ledger.show(scope, keyless);
    // A parked record without a dossier counts as dropped (F6 of fail.ts).
    if (view === undefined || view.record.kind === "parked") return;
    const body: RekeyedBody = { key: record.key };
    const name = `${PREFIX}${keyless}`;
    const pointer = { name, at: clock.now(), count: 1, body: JSON.stringify(body) };
    await ledger.addNotes(scope, [{ kind: "tried", ...pointer }]);
    await ledger.removeNotes(scope, "dossier", [keyless]); // Y1
  }

  return async (record, { delivery }) => {
    const redriven = delivery.attributes[REDRIVEN_ATTRIBUTE] !== undefined;
    if (!redriven || record.content.kind !== "own") return;
    const keyless = recordKey(scope, bodyIdentity(delivery.body));
    await write(record, keyless).catch(() => undefined); // Y2
  };
}

/** The record that a message without a key became; null if there is none (Y1). */
export async function findRekeyed(
  ledger: Ledger,
  scope: LedgerScope,
  keyless: RecordKey,
): Promise<RecordKey | null> {
  const note = await ledger.findNote(scope, "tried", `${PREFIX}${keyless}`);
  return note === undefined ? null : asRecordKey((JSON.parse(note.body) as RekeyedBody).key);
}
