// Dialect: where the SQL of SQLite and PostgreSQL differs, as far as the sink needs it.

import type { SinkValue } from "../../../core/sink-write.ts";
import type { ScalarType, TypeFacts } from "../../../core/table-spec.ts";
import type { TableColumn } from "../column.ts";
import { quotedName } from "../names.ts";
import { hexText } from "../row-values.ts";

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** The declared type of a column. */
  nativeType(type: TypeFacts): string;
  /** The nth parameter, from 1. */
  param(position: number, type: "text" | "integer" | "json" | "any"): string;
  /** A source `e` with one row per element of the JSON list in a parameter. */
  elements(param: string): string;
  /** The value at an index of such an element, which is a list. */
  member(index: number, column: TableColumn): string;
  /** A flag at an index of such an element. */
  flag(index: number): string;
  /** A value as JSON carries it to `member`. */
  jsonValue(value: SinkValue): string | number | null;
  readonly integer: string;
  readonly boolean: string;
  /** The type of text that is compared by bytes. */
  readonly byteText: string;
  /** The type of a number that the database draws, as a primary key. */
  readonly serial: string;
  /** Ends CREATE TABLE: stores rows in key order. */
  readonly clustered: string;
  /** Makes a lookup use an index that the planner would not choose. */
  indexedBy(index: string): string;
  /** A value column of a side table, which takes any value. */
  readonly anyType: string;
  /** To `anyType` and back, without loss. */
  toAny(value: string): string;
  fromAny(value: string, column: TableColumn): string;
  /** A condition: some columns of `a` differ from those of `b`. */
  differs(a: string, b: string, columns: readonly TableColumn[]): string;
}

const SQLITE_TYPES: Readonly<Record<ScalarType, string>> = {
  text: "TEXT",
  integer: "INTEGER",
  bigint: "INTEGER",
  // A number would be rounded to a double.
  decimal: "TEXT",
  real: "REAL",
  boolean: "BOOLEAN",
  date: "TEXT",
  timestamp: "TEXT",
  json: "TEXT",
  bytes: "BLOB",
  uuid: "TEXT",
};

/** The JSON functions of SQLite return text as text, so only numbers and bytes need a cast. */
function sqliteMember(index: number, { type, native }: TableColumn): string {
  const value = `e.value ->> ${index}`;
  if (type === "native") {
    return /BLOB/i.test(native) ? `unhex(${value})` : `(${value})`;
  }
  if (type.scalar === "bytes") return `unhex(${value})`;
  // BOOLEAN has numeric affinity.
  return `CAST(${value} AS ${native})`;
}

export const SQLITE: Dialect = {
  name: "sqlite",
  nativeType: ({ scalar }) => SQLITE_TYPES[scalar],
  param: (position) => `?${position}`,
  elements: (param) => `json_each(${param}) AS e`,
  member: sqliteMember,
  flag: (index) => `(e.value ->> ${index})`,
  jsonValue: (value) =>
    value instanceof Uint8Array
      ? hexText(value).slice(2)
      : typeof value === "bigint"
        ? value.toString()
        : value,
  integer: "INTEGER",
  boolean: "BOOLEAN",
  byteText: "TEXT",
  serial: "INTEGER PRIMARY KEY",
  clustered: " WITHOUT ROWID",
  indexedBy: (index) => ` INDEXED BY ${quotedName(index)}`,
  anyType: "",
  toAny: (value) => value,
  fromAny: (value) => value,
  differs: (a, b, columns) =>
    `(${columns.map(({ quoted }) => `${a}.${quoted} IS NOT ${b}.${quoted}`).join(" OR ")})`,
};

const POSTGRES_TYPES: Readonly<Record<ScalarType, string>> = {
  text: "text",
  integer: "bigint",
  bigint: "bigint",
  decimal: "numeric",
  real: "double precision",
  boolean: "boolean",
  date: "date",
  timestamp: "timestamp with time zone",
  json: "jsonb",
  bytes: "bytea",
  uuid: "uuid",
};

const POSTGRES_PARAMS = { text: "::text", integer: "::bigint", json: "::jsonb", any: "" } as const;
/** Types without an equality operator. */
const WITHOUT_EQUALITY = /^(json|xml|point|polygon|box|path|circle|line|lseg)\b/;

function postgresType({ scalar, isArray, digits }: TypeFacts): string {
  const size = digits === null ? "" : `(${digits.total},${digits.scale})`;
  return `${POSTGRES_TYPES[scalar]}${size}${isArray ? "[]" : ""}`;
}

export const POSTGRES: Dialect = {
  name: "postgres",
  nativeType: postgresType,
  param: (position, type) => `$${position}${POSTGRES_PARAMS[type]}`,
  elements: (param) => `jsonb_array_elements(${param}) AS e(value)`,
  member: (index, { native }) => `(e.value ->> ${index})::${native}`,
  flag: (index) => `(e.value ->> ${index})::boolean`,
  jsonValue: (value) =>
    value instanceof Uint8Array
      ? hexText(value)
      : typeof value === "bigint"
        ? value.toString()
        : value,
  integer: "bigint",
  boolean: "boolean",
  byteText: 'text COLLATE "C"',
  serial: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  clustered: "",
  indexedBy: () => "",
  anyType: "text",
  toAny: (value) => `${value}::text`,
  fromAny: (value, { native }) => `${value}::${native}`,
  differs(a, b, columns) {
    const shown = (from: string) =>
      columns
        .map(({ quoted, native }) => {
          return `${from}.${quoted}${WITHOUT_EQUALITY.test(native) ? "::text" : ""}`;
        })
        .join(", ");
    return `ROW(${shown(a)}) IS DISTINCT FROM ROW(${shown(b)})`;
  },
};
