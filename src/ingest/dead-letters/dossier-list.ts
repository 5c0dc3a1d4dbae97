// Dossier list: reads the dossiers of a scope from the ledger, page by page.

import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { type Dossier, decodeDossier } from "./dossier.ts";

const NOTES_PER_PAGE = 100;
/** Bounds one listing. */
export const DOSSIERS_MAX = 100_000;

/** The dossiers of a scope, ordered by key. */
export async function* dossiersOf(ledger: Ledger, scope: LedgerScope): AsyncGenerator<Dossier> {
  let after: string | null = null;
  for (let read = 0; read < DOSSIERS_MAX; read += NOTES_PER_PAGE) {
    const page: { readonly body: string; readonly name: string }[] = await ledger.listNotes(
      scope,
      "dossier",
      { after, limit: NOTES_PER_PAGE },
    );
    for (const { body } of page) yield decodeDossier(body);
    after = page.at(-1)?.name ?? null;
    if (page.length < NOTES_PER_PAGE) return;
  }
}
