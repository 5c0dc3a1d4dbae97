// Dialect: where the SQL of SQLite and PostgreSQL differs, as far as the sink needs it.

import type { ColumnType } from "../../core/table-spec.ts";

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** The nth parameter, from 1. */
  param(position: number, type: ColumnType | "json"): string;
  /** A source `n` with one row per element of the JSON list in a parameter. */
  elements(param: string): string;
  /** The value at an index of such an element, which is a list. */
  member(index: number, type: ColumnType): string;
  /** The declared type of a column; `describe` of the database returns the same word. */
  readonly columnTypes: Readonly<Record<ColumnType, string>>;
  /** The type of text that is compared by bytes. */
  readonly byteText: string;
  /** Ends CREATE TABLE: stores rows in key order. */
  readonly clustered: string;
  /** The statements that replace a view by one with more columns. */
  replaceView(name: string, create: string): string[];
  /** A condition: the row's key is not in the list. */
  absentFrom(list: KeyList): string;
}

export interface KeyList {
  readonly param: string;
  readonly columns: readonly { readonly name: string; readonly type: ColumnType }[];
  /** The row in question. */
  readonly alias: string;
  /** All candidate rows, as a source. */
  readonly own: string;
}

/** Names are checked before (B1 of core/table-spec.ts); doubling quotes is the second safeguard. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const SQLITE_TYPES = {
  text: "TEXT",
  integer: "INTEGER",
  real: "REAL",
  boolean: "BOOLEAN",
} as const;

export const SQLITE: Dialect = {
  name: "sqlite",
  param: (position) => `?${position}`,
  elements: (param) => `json_each(${param}) AS n`,
  // BOOLEAN has numeric affinity, and JSON's true and false arrive as 1 and 0.
  member: (index, type) => `CAST(n.value ->> ${index} AS ${SQLITE_TYPES[type]})`,
  columnTypes: SQLITE_TYPES,
  byteText: "TEXT",
  clustered: " WITHOUT ROWID",
  replaceView: (name, create) => [`DROP VIEW ${quotedName(name)}`, create],
  // NOT IN would scan the whole list for a NULL, for each row that is not in it.
  absentFrom({ param, columns, alias, own }) {
    const names = columns.map(({ name }) => quotedName(name)).join(", ");
    const named = columns.map(({ name }) => `${alias}.${quotedName(name)}`).join(", ");
    const members = columns.map(({ type }, index) => SQLITE.member(index, type)).join(", ");
    return `EXISTS (SELECT 1 FROM ${own}) AND (${named}) IN (SELECT ${names} FROM ${own}
      EXCEPT SELECT ${members} FROM ${SQLITE.elements(param)})`;
  },
};

const POSTGRES_TYPES = {
  text: "text",
  integer: "bigint",
  real: "double precision",
  boolean: "boolean",
} as const;

export const POSTGRES: Dialect = {
  name: "postgres",
  param: (position, type) => `$${position}::${type === "json" ? "jsonb" : POSTGRES_TYPES[type]}`,
  elements: (param) => `jsonb_array_elements(${param}) AS n(value)`,
  member: (index, type) => `(n.value ->> ${index})::${POSTGRES_TYPES[type]}`,
  columnTypes: POSTGRES_TYPES,
  byteText: 'text COLLATE "C"',
  clustered: "",
  // Views that users built on top of it stay.
  replaceView: (_, create) => [create.replace(/^CREATE VIEW/, "CREATE OR REPLACE VIEW")],
  // NOT EXISTS becomes an anti-join; NOT IN would run row by row once it exceeds work_mem.
  absentFrom({ param, columns, alias }) {
    const same = columns.map(
      ({ name, type }, index) => `${alias}.${quotedName(name)} = ${POSTGRES.member(index, type)}`,
    );
    return `NOT EXISTS (SELECT 1 FROM ${POSTGRES.elements(param)} WHERE ${same.join(" AND ")})`;
  },
};
