// Flat records: a page of the list by object as plain columns, for a reader that lists a whole
// ledger and needs few of them.
//   F1. Order, cursors and expiry are those of `listRecords` by object, so a list may continue with
//       either.

import type { EpochMs } from "../../core/units.ts";
import type { ListPage } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { checkScope } from "../batches.ts";
import type { ObjectRange } from "../list-records.ts";
import { checkListPage, decodeStart, encodeStart, prefixEnd } from "../list-records.ts";

export type FlatRecord = readonly [
  key: string,
  state: string,
  changedAt: number,
  expiresAt: number,
  eventTime: number,
  objectKey: string,
  /** Of sql/record-columns.ts. */
  detail: string | null,
  /** Of record-input.ts. */
  input: string,
];

/** A page may have fewer records than `limit`, even none. */
export interface FlatRecordPage {
  readonly records: readonly FlatRecord[];
  readonly next: string | null;
}

/** Lists the records of a bucket's objects. */
export type ListFlatRecords = (
  scope: LedgerScope,
  query: { readonly bucket: string; readonly prefix: string },
  page: ListPage,
) => FlatRecordPage;

/** `listRows` returns up to `limit` rows of the range in order, expired ones included. */
export function flatListCall(
  listRows: (scope: LedgerScope, range: ObjectRange) => FlatRecord[],
  expiryNow: () => EpochMs,
): ListFlatRecords {
  return (scope, { bucket, prefix }, page) => {
    checkScope(scope);
    checkListPage(page, "records");
    const { after, limit } = page;
    const first = { bucket, object: prefix, key: "" };
    const start = after === null ? first : (decodeStart("object", after) as ObjectRange["start"]);
    const rows = listRows(scope, { by: "object", start, bucket, end: prefixEnd(prefix), limit });
    const expiry = expiryNow();
    const records = rows.filter(([, , , expiresAt]) => expiresAt > expiry); // F1
    const last = rows.length < limit ? undefined : rows.at(-1);
    if (last === undefined) return { records, next: null };
    return { records, next: encodeStart("object", { bucket, object: last[5], key: last[0] }) };
  };
}
