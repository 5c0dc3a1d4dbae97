// List rows: reads records in the order of a list, each from its index (Y1 of ledger-tables.ts).

import type { Pool } from "pg";
import type { RecordRange } from "../../ledger/list-records.ts";
import type { ListedRecord } from "../../ports/ledger.ts";
import { COLUMNS, fromRow } from "./record-rows.ts";

interface Query {
  readonly name: string;
  readonly where: string;
  readonly order: string;
  readonly params: readonly (string | number)[];
}

export async function listPostgresRows(
  pool: Pool,
  scopeId: number,
  range: RecordRange,
): Promise<ListedRecord[]> {
  const { name, where, order, params } = queryOf(range);
  const { rows } = await pool.query({
    name: `tidegate-list-${name}`,
    text: `SELECT key, ${COLUMNS} FROM tidegate_ledger_record
      WHERE scope = $1 AND ${where} ORDER BY ${order} LIMIT $2`,
    values: [scopeId, range.limit, ...params],
  });
  return rows.map((row) => {
    const { key, record, input } = fromRow(row);
    return { key, record, input };
  });
}

function queryOf(range: RecordRange): Query {
  if (range.by === "object") {
    const { bucket, object, key } = range.start;
    if (range.bucket === null) {
      return {
        name: "objects",
        where: "bucket IS NOT NULL AND (bucket, object_key, key) > ($3, $4, $5)",
        order: "bucket, object_key, key",
        params: [bucket, object, key],
      };
    }
    const where = "bucket = $3 AND (object_key, key) > ($4, $5)";
    const params = [range.bucket, object, key];
    const order = "object_key, key";
    if (range.end === null) return { name: "bucket", where, order, params };
    return {
      name: "prefix",
      where: `${where} AND object_key < $6`,
      order,
      params: [...params, range.end],
    };
  }
  const { at, key } = range.start;
  const column = range.by === "event-time" ? "event_time" : "changed_at";
  const state = range.by === "commit-time" ? "state = 'committed' AND" : "";
  const isOpen = range.unsettled === true;
  const committed = isOpen ? "state <> 'committed' AND" : state;
  const list = isOpen ? "unsettled" : range.by; // Y2 of ledger-tables.ts
  if (range.downTo !== undefined) {
    return {
      name: `${list}-newest`,
      where: `${committed} (${column}, key) < ($3, $4) AND ${column} >= $5`,
      order: `${column} DESC, key DESC`,
      params: [at, key, range.downTo],
    };
  }
  return {
    name: list,
    where: `${committed} (${column}, key) > ($3, $4) AND ${column} < $5`,
    order: `${column}, key`,
    params: [at, key, range.to],
  };
}
