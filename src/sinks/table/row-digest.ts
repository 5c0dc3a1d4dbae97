// Row digest: a digest of a set of rows as they are stored, whatever their order.
//   D1. The SHA-256 of each row is added up modulo 2^256, so that the cost of a row does not depend
//       on how many there are, and rows can come in any order.
//   D2. Values have the form in which they are sent (V1 of row-values.ts), and are read back in the
//       same form. So what the database stores is compared, not what a driver makes of it.
//   D3. A column without a value is not part of a row, so that a column can be added later.
//   D4. Arrays, and columns whose types only the database knows, have no such form: a table with
//       one of them has no digests, and says so.
//   D5. A digest is stored with the columns that it covers and with the record whose rows they are.
//       It says nothing once a column is gone or has another type, or once a process that knows no
//       digests has registered another record.

import { canonicalJson, type JsonValue } from "../../core/encoding/canonical-json.ts";
import { sha256Hex, sha256Latin1 } from "../../core/encoding/hash.ts";
import type { SinkValue } from "../../core/sink-write.ts";
import type { TableColumn } from "./column.ts";
import type { Dialect } from "./databases/dialect.ts";
import type { PlannedRow } from "./rows.ts";
import type { TableShape } from "./shape.ts";

const LANES = 8;
const LANE_BITS = 32n;
const MODULUS = 2n ** 256n;
/** A lane is a sum of numbers below 2^32, which stays exact below 2^53. */
const CARRY_EVERY = 1_000_000;
const HEX_DIGITS = 64;

/** D1 */
export class RowDigest {
  rows = 0;
  readonly #lanes = new Float64Array(LANES);
  #carried = 0n;

  add(text: string): void {
    const hash = sha256Latin1(text);
    const lanes = this.#lanes;
    for (let lane = 0, at = 0; lane < LANES; lane += 1, at += 4) {
      const high = (hash.charCodeAt(at) << 8) | hash.charCodeAt(at + 1);
      const low = (hash.charCodeAt(at + 2) << 8) | hash.charCodeAt(at + 3);
      lanes[lane] = (lanes[lane] ?? 0) + high * 65_536 + low;
    }
    this.rows += 1;
    if (this.rows % CARRY_EVERY === 0) this.#carry();
  }

  get hex(): string {
    this.#carry();
    return this.#carried.toString(16).padStart(HEX_DIGITS, "0");
  }

  #carry(): void {
    let sum = 0n;
    for (const lane of this.#lanes) sum = (sum << LANE_BITS) + BigInt(lane);
    this.#carried = (this.#carried + sum) % MODULUS;
    this.#lanes.fill(0);
  }
}

interface DigestedColumn {
  readonly index: number;
  readonly label: string;
  readonly isKey: boolean;
  /** Set if the stored text is another one than the text that was sent. */
  readonly normal: ((text: string) => string) | null;
}

/** How rows of a table become text. */
export interface RowTexts {
  /** Of a row that is planned. */
  readonly planned: (row: PlannedRow) => string;
  /** Of a row that was read with `expressions`. */
  readonly stored: (values: readonly unknown[], deleted: boolean) => string;
  /** What reads each column of a relation without loss. */
  readonly expressions: (columnValue: (column: TableColumn) => string) => string[];
}

const MARK_CHARS = 6;
const RECORD_CHARS = 16;
const STORED = new RegExp(
  `^([0-9a-f]{${HEX_DIGITS}})\\.((?:[0-9a-f]{${MARK_CHARS}})+)\\.(.{1,${RECORD_CHARS}})$`,
);

/** A short name for each column with its type (D5). */
export function columnMarks({ columns }: TableShape): string[] {
  return columns.map(({ name, native }) => sha256Hex(`${name}\n${native}`).slice(0, MARK_CHARS));
}

/** How the register has the digest of a record's rows in these columns (D5). */
export function storedDigest(hex: string, columns: readonly string[], record: string): string {
  return `${hex}.${columns.join("")}.${record.slice(-RECORD_CHARS)}`;
}

/**
 * The digest that is stored for the rows of a record. Null if it says nothing about the rows of
 * this record in these columns (D5). A text of another form equals no digest.
 */
export function digestIn(
  stored: string,
  columns: ReadonlySet<string>,
  record: string,
): string | null {
  const [, hex, marks = "", of] = STORED.exec(stored) ?? [];
  if (hex === undefined) return stored;
  if (of !== record.slice(-RECORD_CHARS)) return null;
  for (let at = 0; at < marks.length; at += MARK_CHARS) {
    if (!columns.has(marks.slice(at, at + MARK_CHARS))) return null;
  }
  return hex;
}

/** Null if the table has no digests (D4). */
export function rowTextsOf(dialect: Dialect, shape: TableShape): RowTexts | null {
  if (undigestedColumns(shape).length > 0) return null;
  const columns = shape.columns
    .map(({ name, type }, index): DigestedColumn => {
      const isKey = shape.key.includes(name);
      const scalar = type === "native" ? null : type.scalar;
      return { index, label: `${name}:`, isKey, normal: normalForm(dialect, scalar) };
    })
    .toSorted((one, other) => (one.label < other.label ? -1 : 1));
  return {
    planned: ({ values, deleted }) => textOf(columns, values, deleted),
    stored: (values, deleted) => textOf(columns, values as readonly SinkValue[], deleted),
    expressions: (columnValue) =>
      shape.columns.map((column) => storedForm(dialect, column, columnValue(column))),
  };
}

/** The columns because of which a table has no digests (D4). */
export function undigestedColumns({ columns }: TableShape): string[] {
  return columns.filter(({ type }) => type === "native" || type.isArray).map(({ name }) => name);
}

/** Each value with its length, so that no two rows share a text. */
function textOf(
  columns: readonly DigestedColumn[],
  values: readonly SinkValue[],
  deleted: boolean,
): string {
  let text = deleted ? "D" : "R";
  for (const { index, label, isKey, normal } of columns) {
    const value = values[index] ?? null;
    if (value === null || (deleted && !isKey)) continue; // D3
    const plain = plainText(value);
    const shown = normal === null ? plain : normal(plain);
    text += `${label}${shown.length}:${shown}`;
  }
  return text;
}

function plainText(value: SinkValue): string {
  if (typeof value === "string") return value;
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
}

/** D2 */
function normalForm({ name }: Dialect, scalar: string | null): DigestedColumn["normal"] {
  if (name === "sqlite") return null;
  switch (scalar) {
    case "decimal":
      return (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    case "real":
      return (text) => String(Number(text));
    case "json":
      return (text) => canonicalJson(JSON.parse(text) as JsonValue);
    default:
      return null;
  }
}

/** The expression for a column that gives the text, or the number, that was sent (D2). */
function storedForm({ name }: Dialect, { type }: TableColumn, value: string): string {
  const scalar = type === "native" ? null : type.scalar;
  const isWhole = scalar === "integer" || scalar === "bigint" || scalar === "boolean";
  if (name === "sqlite") {
    // A side table has no types, so it may have 3.0 where the table has 3.
    const whole = `CAST(${value} AS INTEGER)`;
    if (isWhole) {
      return `CASE WHEN ${value} = ${whole} THEN CAST(${whole} AS TEXT)
        ELSE CAST(${value} AS TEXT) END`;
    }
    // A list of rows is JSON, where the number 1e17 is a whole one.
    if (scalar === "real") {
      return `CASE typeof(${value}) WHEN 'integer' THEN CAST(${value} AS REAL) ELSE ${value} END`;
    }
    return scalar === "bytes"
      ? `CASE WHEN ${value} IS NOT NULL THEN lower(hex(${value})) END`
      : value;
  }
  switch (scalar) {
    case "boolean":
      return `(${value})::int::text`;
    case "date":
      return `to_char(${value}, 'YYYY-MM-DD')`;
    case "timestamp":
      return `to_char((${value}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
    case "bytes":
      return `encode(${value}, 'hex')`;
    default:
      return `(${value})::text`;
  }
}
