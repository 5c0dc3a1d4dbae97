// Dossier list: reads the dossiers of a scope from the ledger.

import { refuseConfig } from "../../core/errors.ts";
import { everyNote } from "../../ledger/every-note.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";

/** The dossiers of a scope, ordered by key. */
export async function* dossiersOf(ledger: Ledger, scope: LedgerScope): AsyncGenerator<Dossier> {
  for await (const { body } of everyNote(ledger, scope, "dossier")) yield decodeDossier(body);
}

/** The queue that the dossiers name, if they agree; null without dossiers. */
export async function queueInDossiers(ledger: Ledger, scope: LedgerScope): Promise<string | null> {
  const queues = new Set<string>();
  for await (const { queue } of dossiersOf(ledger, scope)) queues.add(queue);
  const [queue = null, ...others] = queues;
  if (others.length === 0) return queue;
  const names = [...queues].join(", ");
  refuseConfig(`the dead letters come from several queues (${names}); choose one with queue`);
}
