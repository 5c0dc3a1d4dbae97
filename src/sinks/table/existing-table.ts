// Existing table: a table that the user creates and migrates.
//   E1. The key needs a unique index: without one, an upsert cannot find its row.
//   E2. The pipeline writes the columns that it lists, else those that the database does not fill
//       in. So the result does not depend on which columns an earlier row happened to name.

import type { ExistingTableSpec, TypeFacts } from "../../core/table-spec.ts";
import { parseColumnType } from "../../core/table-spec.ts";
import { columnOf, type TableColumn } from "./column.ts";
import type { Dialect } from "./databases/dialect.ts";
import type { ExistingColumn, Relation } from "./relation.ts";
import type { ValueType } from "./row-values.ts";
import { shapeOf, type TableShape } from "./shape.ts";

export interface Unusable {
  readonly problems: readonly string[];
}

export function existingShape(
  dialect: Dialect,
  table: string,
  spec: ExistingTableSpec,
  relation: Relation | null,
): TableShape | Unusable {
  if (relation === null || relation.kind !== "table") {
    const what = relation === null ? "does not exist" : "is not a table";
    return {
      problems: [`the existing table ${table} ${what}; create it before the pipeline starts`],
    };
  }
  const problems = [
    ...missingColumns(table, spec, relation.columns),
    ...indexProblems(table, spec.key, relation),
  ];
  if (problems.length > 0) return { problems };
  const written = relation.columns.filter((column) => isWritten(column, spec)); // E2
  const names = new Set(written.map(({ name }) => name));
  const unwritten = relation.columns.map(({ name }) => name).filter((name) => !names.has(name));
  const columns = written.map((column) => columnFrom(dialect, column));
  return shapeOf(table, columns, spec.key, unwritten);
}

function isWritten(column: ExistingColumn, { key, columns }: ExistingTableSpec): boolean {
  if (key.includes(column.name)) return true;
  return columns === undefined ? !column.filled : columns.includes(column.name);
}

function missingColumns(
  table: string,
  { key, columns = [] }: ExistingTableSpec,
  stored: readonly ExistingColumn[],
): string[] {
  return [...new Set([...key, ...columns])].flatMap((name) => {
    const column = stored.find((one) => one.name === name);
    if (column === undefined) {
      return [`${table} has no column ${name}; add it to the table, or remove it from tables()`];
    }
    if (!column.generated) return [];
    return [`the column ${table}.${name} is generated; remove it from "columns"`];
  });
}

/** E1 */
function indexProblems(table: string, key: readonly string[], { unique }: Relation): string[] {
  const wanted = key.toSorted().join();
  if (unique.some((columns) => columns.toSorted().join() === wanted)) return [];
  const names = key.join(", ");
  return [
    `${table} has no unique index on (${names}); run CREATE UNIQUE INDEX ON ${table} (${names})`,
  ];
}

function columnFrom(dialect: Dialect, { name, type }: ExistingColumn): TableColumn {
  const valueType = dialect.name === "postgres" ? postgresValueType(type) : sqliteValueType(type);
  return columnOf(name, valueType, type);
}

const POSTGRES_VALUES = new Map<string, string>([
  ["text", "text"],
  ["character varying", "text"],
  ["character", "text"],
  ["citext", "text"],
  ["smallint", "integer"],
  ["integer", "integer"],
  ["bigint", "bigint"],
  ["numeric", "decimal"],
  ["real", "real"],
  ["double precision", "real"],
  ["boolean", "boolean"],
  ["date", "date"],
  ["timestamp with time zone", "timestamp"],
  ["json", "json"],
  ["jsonb", "json"],
  ["bytea", "bytes"],
  ["uuid", "uuid"],
]);

/** The values that a type of PostgreSQL takes; enums and others are left to the server. */
function postgresValueType(type: string): ValueType {
  const isArray = type.endsWith("[]");
  const element = isArray ? type.slice(0, -2) : type;
  const digits = /^numeric\((\d+),(\d+)\)$/.exec(element);
  if (digits !== null && !isArray) {
    return parseColumnType(`decimal(${digits[1]},${digits[2]})`) ?? "native";
  }
  // The size is the server's to check: "character varying(20)", "timestamp(3) with time zone".
  const scalar = POSTGRES_VALUES.get(element.replace(/\(\d+(,-?\d+)?\)/, ""));
  const facts = parseColumnType(scalar);
  return facts === null ? "native" : { ...facts, isArray };
}

const SQLITE_VALUES: readonly (readonly [RegExp, TypeFacts["scalar"]])[] = [
  [/^BOOL/i, "boolean"],
  [/INT/i, "bigint"],
  [/REAL|FLOA|DOUB/i, "real"],
  [/^JSON/i, "json"],
  [/BLOB/i, "bytes"],
];

/** SQLite has affinities; a type without one of these takes any value. */
function sqliteValueType(type: string): ValueType {
  const scalar = SQLITE_VALUES.find(([pattern]) => pattern.test(type))?.[1];
  return scalar === undefined ? "native" : { scalar, isArray: false, digits: null };
}
