// List rows: reads records in the order of a list, each from its index (Y1 of ledger-tables.ts).
//   L1. An index without the order of the list is sorted here. Only ids and what they are sorted by
//       go through the sort; the rows of the page are read afterwards.

import type { DatabaseSync } from "node:sqlite";
import type { RecordRange } from "../../../ledger/list-records.ts";
import type { RecordColumns } from "../../../ledger/record-columns.ts";
import { fromColumns } from "../../../ledger/record-columns.ts";
import type { InputColumns } from "../../../ledger/record-input.ts";
import { fromInputColumns } from "../../../ledger/record-input.ts";
import { asRecordKey } from "../../../ledger/record-state.ts";
import type { ListedRecord } from "../../../ports/ledger.ts";
import { rankOf } from "./key-hash.ts";
import { INPUT_COLUMNS, RECORD_COLUMNS } from "./record-rows.ts";

type Row = RecordColumns & InputColumns & { readonly key: string };

interface Query {
  /** An index that the planner might not choose, and that has another order (L1). */
  readonly index?: string;
  readonly where: string;
  readonly order: string;
  readonly params: readonly (string | number)[];
}

export function listSqliteRows(
  db: DatabaseSync,
  scopeId: number,
  range: RecordRange,
): ListedRecord[] {
  const { index, where, order, params } = queryOf(range);
  const page = `WHERE scope = ? AND ${where} ORDER BY ${order} LIMIT ?`;
  const sorted = `WHERE id IN (SELECT id FROM ledger_record INDEXED BY ${index} ${page})
    ORDER BY ${order}`; // L1
  const rows = db
    .prepare(`SELECT key, ${RECORD_COLUMNS}, ${INPUT_COLUMNS} FROM ledger_record
      ${index === undefined ? page : sorted}`)
    .all(scopeId, ...params, range.limit);
  return rows.map((each) => {
    const row = each as unknown as Row;
    const key = asRecordKey(row.key);
    return { key, record: fromColumns(row), input: fromInputColumns(row) };
  });
}

function queryOf(range: RecordRange): Query {
  if (range.by === "object") {
    const { bucket, object, key } = range.start;
    const rank = rankOf(key);
    if (range.bucket === null) {
      const where = "bucket IS NOT NULL AND (bucket, object_key, rank, key) > (?, ?, ?, ?)";
      return { where, order: "bucket, object_key, rank, key", params: [bucket, object, rank, key] };
    }
    const end = range.end === null ? "" : "AND object_key < ?";
    return {
      where: `bucket = ? AND (object_key, rank, key) > (?, ?, ?) ${end}`,
      order: "object_key, rank, key",
      params: [range.bucket, object, rank, key, ...(range.end === null ? [] : [range.end])],
    };
  }
  const { at, key } = range.start;
  const rank = rankOf(key);
  const column = range.by === "event-time" ? "event_time" : "changed_at";
  const state = range.by === "commit-time" ? "state = 'committed' AND" : "";
  const isOpen = range.unsettled === true;
  const committed = isOpen ? "state <> 'committed' AND" : state;
  const index = isOpen ? { index: "ledger_record_open" } : {}; // Y3 of ledger-tables.ts
  if (range.downTo !== undefined) {
    return {
      ...index,
      where: `${committed} (${column}, rank, key) < (?, ?, ?) AND ${column} >= ?`,
      order: `${column} DESC, rank DESC, key DESC`,
      params: [at, rank, key, range.downTo],
    };
  }
  return {
    ...index,
    where: `${committed} (${column}, rank, key) > (?, ?, ?) AND ${column} < ?`,
    order: `${column}, rank, key`,
    params: [at, rank, key, range.to],
  };
}
