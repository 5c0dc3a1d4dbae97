// Shadow content: a hash of the rows of a table, for comparing runs.
//   N1. It depends on the rows only: SQLite and PostgreSQL give the same hash, whatever the order.
//       The hashes of the rows are added up modulo 2^256.
//   N2. A value has one spelling: numbers without idle zeros, times in UTC, canonical JSON.

import { canonicalJson, type JsonValue } from "../../../core/encoding/canonical-json.ts";
import { sha256Hex } from "../../../core/encoding/hash.ts";
import type { SinkValue } from "../../../core/sink-write.ts";
import type { TableContent } from "../../../ports/shadow.ts";
import type { SinkStore } from "../../../ports/sink.ts";
import type { TableColumn } from "../column.ts";
import type { Dialect } from "../databases/dialect.ts";
import type { TableShape } from "../shape.ts";
import { listColumns } from "../statements.ts";
import { readableNumber } from "./shadow-statements.ts";

const PAGE_ROWS = 5_000;
const MODULUS = 2n ** 256n;

/** Reads a whole table, in pages. */
export async function tableContent(
  dialect: Dialect,
  store: SinkStore,
  { live, shadow }: { readonly live: string; readonly shadow: TableShape },
): Promise<TableContent> {
  const { columns, keyColumns, target } = shadow;
  const keys = listColumns(keyColumns);
  const shown = columns.map((column, at) => `${shownBy(dialect, column)} AS v${at}`);
  const cursor = keyColumns.map(({ quoted }, at) => `${readableNumber(dialect, quoted)} AS k${at}`);
  let sum = 0n;
  let rows = 0;
  let after: readonly SinkValue[] | null = null;
  for (;;) {
    const marks = keyColumns.map(({ native }, at) => keyParam(dialect, at, native)).join(", ");
    const page = await store.read({
      statement: `SELECT ${[...shown, ...cursor].join(", ")} FROM ${target}
        ${after === null ? "" : `WHERE (${keys}) > (${marks})`} ORDER BY ${keys} LIMIT ${PAGE_ROWS}`,
      params: after ?? [],
      once: true,
    });
    for (const row of page) sum = (sum + rowHash(columns, row)) % MODULUS; // N1
    rows += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) break;
    after = keyColumns.map((_, at) => asParam(last[`k${at}`]));
  }
  const contentHash = sha256Hex(`${rows} ${sum.toString(16)}`);
  return { table: live, rows, contentHash };
}

function rowHash(columns: readonly TableColumn[], row: Readonly<Record<string, unknown>>): bigint {
  const values = columns.map((column, at) => [column.name, spelled(column, row[`v${at}`])]);
  return BigInt(`0x${sha256Hex(canonicalJson(Object.fromEntries(values) as JsonValue))}`);
}

function keyParam(dialect: Dialect, at: number, native: string): string {
  const mark = dialect.param(at + 1, "any");
  return dialect.name === "postgres" ? `${mark}::${native}` : mark;
}

function asParam(value: unknown): SinkValue {
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "boolean") return String(value);
  return value as SinkValue;
}

/** The expression that reads a column without loss. */
function shownBy({ name: dialect }: Dialect, { quoted, type }: TableColumn): string {
  if (type === "native") return dialect === "postgres" ? `${quoted}::text` : quoted;
  if (type.isArray) return `${quoted}::text`;
  switch (type.scalar) {
    case "integer":
    case "bigint":
    case "decimal":
      return `CAST(${quoted} AS text)`;
    case "bytes":
      return dialect === "postgres" ? `encode(${quoted}, 'hex')` : `lower(hex(${quoted}))`;
    case "date":
    case "uuid":
    case "json":
      return dialect === "postgres" ? `${quoted}::text` : quoted;
    case "timestamp":
      return dialect === "postgres" ? `(${quoted} AT TIME ZONE 'UTC')::text` : quoted;
    default:
      return quoted;
  }
}

/** N2 */
function spelled({ type }: TableColumn, value: unknown): JsonValue {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value === "bigint") return value.toString();
  if (type === "native" || type.isArray) return value as JsonValue;
  switch (type.scalar) {
    case "boolean":
      return value === true || value === 1;
    case "json":
      return JSON.parse(String(value)) as JsonValue;
    case "decimal":
      return plainDecimal(String(value));
    case "timestamp":
      return new Date(utcText(String(value))).toISOString();
    default:
      return value as JsonValue;
  }
}

function plainDecimal(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** PostgreSQL shows "2026-11-17 08:00:00.5", SQLite has "2026-11-17T08:00:00.500Z". */
function utcText(text: string): string {
  return text.endsWith("Z") ? text : `${text.replace(" ", "T")}Z`;
}
