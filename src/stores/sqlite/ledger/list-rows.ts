// List rows: reads records in the order of a list, each from its index (Y1 of ledger-tables.ts).
//   L1. Rows are read as arrays: an audit lists every record of a ledger, and SQLite's driver takes
//       twice as long to build an object for each row.

import type { DatabaseSync } from "node:sqlite";
import type { ObjectRange, RecordRange } from "../../../ledger/list-records.ts";
import type { InputColumns } from "../../../ledger/record-input.ts";
import { fromInputColumns } from "../../../ledger/record-input.ts";
import { asRecordKey } from "../../../ledger/record-state.ts";
import type { FlatRecord } from "../../../ledger/rows/flat-records.ts";
import type { RecordColumns } from "../../../ledger/rows/record-columns.ts";
import { fromColumns } from "../../../ledger/rows/record-columns.ts";
import type { ListedRecord } from "../../../ports/ledger.ts";
import { rankOf } from "./key-hash.ts";
import { INPUT_COLUMNS, RECORD_COLUMNS } from "./record-rows.ts";

/** The key, RECORD_COLUMNS and INPUT_COLUMNS, in their order (L1). */
type Row = [
  key: string,
  state: RecordColumns["state"],
  fence: number,
  attempts: number,
  seenAt: number,
  changedAt: number,
  expiresAt: number,
  leaseUntil: number,
  owner: string | null,
  digest: string | null,
  detail: string | null,
  eventTime: number,
  bucket: string | null,
  objectKey: string | null,
  input: InputColumns["input"],
];

interface Query {
  /** An index that the planner might not choose. */
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
  const columns = `key, ${RECORD_COLUMNS}, ${INPUT_COLUMNS}`;
  const rows = selectRows(db, columns, scopeId, range) as Row[];
  return rows.map(listedOf);
}

/** The columns of FlatRecord, in their order. */
const FLAT_COLUMNS = "key, state, changed_at, expires_at, event_time, object_key, detail, input";

export function listFlatRows(db: DatabaseSync, scopeId: number, range: ObjectRange): FlatRecord[] {
  return selectRows(db, FLAT_COLUMNS, scopeId, range) as unknown as FlatRecord[];
}

function selectRows(
  db: DatabaseSync,
  columns: string,
  scopeId: number,
  range: RecordRange,
): unknown[] {
  const { index, where, order, params } = queryOf(range);
  const statement = db.prepare(`SELECT ${columns} FROM ledger_record
      ${index === undefined ? "" : `INDEXED BY ${index}`} WHERE scope = ? AND ${where} ORDER BY ${order} LIMIT ?`);
  statement.setReturnArrays(true); // L1
  return statement.all(scopeId, ...params, range.limit);
}

function listedOf(row: Row): ListedRecord {
  const [key, state, fence, attempts, seenAt, changedAt, expiresAt, leaseUntil] = row;
  const owner = row[8];
  const digest = row[9];
  const detail = row[10];
  const columns = { state, fence, attempts, seenAt, changedAt, expiresAt, leaseUntil };
  const record = fromColumns({ ...columns, owner, digest, detail });
  const input = { eventTime: row[11], bucket: row[12], objectKey: row[13], input: row[14] };
  return { key: asRecordKey(key), record, input: fromInputColumns(input) };
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
