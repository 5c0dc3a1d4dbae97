// Check records: reads every record of a ledger and reports those whose fields do not fit together
// (record-proof.ts).
//   C1. A row that cannot be read is a problem, not the end of the check. If a page cannot be read,
//       the rest of its scope is not looked at.
//   C2. Memory holds a page of records, and PROBLEMS_MAX problems.
//   C3. A DynamoDB table without lists cannot be read like this, which says nothing against it.

import { reasonOf, TidegateError } from "../core/errors.ts";
import { LIST_PAGE_MAX } from "../ledger/list-records.ts";
import type { Ledger, ListedRecord } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { logProblem, proofOf } from "./record-proof.ts";

export type RecordLedger = Pick<Ledger, "listRecords" | "show">;

const PROBLEMS_MAX = 1_000;
const EDITED =
  "its key is not that of its stored event; it was edited, somebody else added it, or it is of " +
  "a kind of event that this release does not know";

/**
 * A sentence for each problem of the records of a scope, up to PROBLEMS_MAX (C2); null if the
 * ledger keeps no lists of its records (C3).
 */
export async function checkRecords(
  ledger: RecordLedger,
  scope: LedgerScope,
): Promise<string[] | null> {
  const problems: string[] = [];
  const where = `${scope.pipeline}, generation ${scope.generation}`;
  try {
    for await (const listed of everyRecord(ledger, scope)) {
      const problem = await problemOf(ledger, scope, listed);
      if (problem !== null) problems.push(`${nameOf(listed)} of ${where}: ${problem}.`);
      if (problems.length >= PROBLEMS_MAX) return problems;
    }
  } catch (error) {
    if (error instanceof TidegateError && error.code === "TG_LISTING_OFF") return null; // C3
    problems.push(`The records of ${where} cannot be read: ${reasonOf(error)}.`); // C1
  }
  return problems;
}

async function problemOf(
  ledger: RecordLedger,
  scope: LedgerScope,
  listed: ListedRecord,
): Promise<string | null> {
  if (proofOf(scope, listed) === "edited") return EDITED;
  try {
    const view = await ledger.show(scope, listed.key);
    return view === undefined ? null : logProblem(view);
  } catch (error) {
    return `it cannot be read: ${reasonOf(error)}`; // C1
  }
}

function nameOf({ key, input: { object, dedupeKey } }: ListedRecord): string {
  const about = object === null ? dedupeKey : `s3://${object.bucket}/${object.key}`;
  return about === null ? `The record ${key}` : `The record of ${about} (${key})`;
}

async function* everyRecord(
  ledger: RecordLedger,
  scope: LedgerScope,
): AsyncGenerator<ListedRecord> {
  for (let after: string | null = null; ; ) {
    const page = { after, limit: LIST_PAGE_MAX };
    const { records, next } = await ledger.listRecords(scope, { by: "event-time" }, page);
    yield* records;
    if (next === null) return;
    after = next;
  }
}
