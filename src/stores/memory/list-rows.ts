// List rows: the records of a scope in the order of a list. A map has no such order, so every page
// sorts all rows; the other stores have indexes.

import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import { type RecordRange, timeOf } from "../../ledger/list-records.ts";
import type { ListedRecord } from "../../ports/ledger.ts";
import type { RecordInput, RecordKey, StoredRecord } from "../../ports/record.ts";

type Rows = ReadonlyMap<RecordKey, { readonly record: StoredRecord; readonly input: RecordInput }>;
/** What a row is ordered by: a time, or bucket and object key; then the record key. */
type Position = readonly (number | string)[];

export function listMemoryRows(rows: Rows, range: RecordRange): ListedRecord[] {
  const listed = Array.from(rows, ([key, { record, input }]) => ({ key, record, input }));
  const direction = isNewestFirst(range) ? -1 : 1;
  return listed
    .map((row) => ({ row, position: positionOf(row, range) }))
    .filter(({ position }) => position !== null && isWithin(position, range))
    .sort((a, b) => direction * compare(a.position ?? [], b.position ?? []))
    .slice(0, range.limit)
    .map(({ row }) => row);
}

function isNewestFirst(range: RecordRange): boolean {
  return range.by !== "object" && range.downTo !== undefined;
}

/** Null if the list has no such row. */
function positionOf(row: ListedRecord, { by }: RecordRange): Position | null {
  const { key, record, input } = row;
  if (by === "object") {
    return input.object === null ? null : [input.object.bucket, input.object.key, key];
  }
  if (by === "commit-time" && record.kind !== "committed") return null;
  return [timeOf(by, row), key];
}

function isWithin(position: Position, range: RecordRange): boolean {
  if (range.by !== "object") {
    const { at, key } = range.start;
    if (range.downTo !== undefined) {
      return compare(position, [at, key]) < 0 && Number(position[0]) >= range.downTo;
    }
    return compare(position, [at, key]) > 0 && Number(position[0]) < range.to;
  }
  const { bucket, object, key } = range.start;
  if (compare(position, [bucket, object, key]) <= 0) return false;
  if (range.bucket !== null && position[0] !== range.bucket) return false;
  return range.end === null || compareUtf8(String(position[1]), range.end) < 0;
}

function compare(a: Position, b: Position): number {
  for (const [at, left] of a.entries()) {
    const right = b[at] ?? "";
    const order =
      typeof left === "number" ? left - Number(right) : compareUtf8(left, String(right));
    if (order !== 0) return order;
  }
  return 0;
}
