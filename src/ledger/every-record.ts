// Every record: reads all records of a query, page by page, in its order. It has no limit, for the
// reason of every-note.ts. Callers that want only some stop reading.

import type { Ledger, ListedRecord, RecordPage, RecordQuery } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { LIST_PAGE_MAX } from "./list-records.ts";

export async function* everyRecord(
  ledger: Pick<Ledger, "listRecords">,
  scope: LedgerScope,
  query: RecordQuery,
  limit = LIST_PAGE_MAX,
): AsyncGenerator<ListedRecord> {
  let after: string | null = null;
  do {
    const page: RecordPage = await ledger.listRecords(scope, query, { after, limit });
    yield* page.records;
    after = page.next;
  } while (after !== null);
}
