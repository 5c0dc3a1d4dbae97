// Dossier list: reads the dossiers of a scope from the ledger.

import { everyNote } from "../../ledger/every-note.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";

/** The dossiers of a scope, ordered by key. */
export async function* dossiersOf(ledger: Ledger, scope: LedgerScope): AsyncGenerator<Dossier> {
  for await (const { body } of everyNote(ledger, scope, "dossier")) yield decodeDossier(body);
}
