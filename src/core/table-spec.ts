// Table spec: which tables a pipeline writes rows to. A pipeline file says it (ingest), the table
// sink makes and fills them (sinks/table).
//   B1. Names are plain: letters, digits and underscores, so that they mean the same to every
//       database, and nothing in them can end a quoted name.
//   B2. Two names that differ only in case are one name to SQLite, and so they are to us.

export type ColumnType = "text" | "integer" | "real" | "boolean";

export interface TableSpec {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that make two rows the same row. */
  readonly key: readonly string[];
}

export type TablesSpec = Readonly<Record<string, TableSpec>>;

/** Tables in the ledger's database, or in one of their own; made by `tables()`. */
export interface TableSinkSpec<T extends TablesSpec = TablesSpec> {
  readonly kind: "tables";
  readonly tables: T;
  /** Null: the ledger's own, so that rows and ledger are one transaction. */
  readonly database: string | null;
  /** What becomes of an object's rows when the object is deleted. */
  readonly onRemoved: "delete" | "keep";
  /** What becomes of rows that an object's newer version no longer has. */
  readonly onReplaced: "delete" | "keep";
}

export const TABLES_MAX = 64;
export const TABLE_COLUMNS_MAX = 256;
/** PostgreSQL cuts names at 63 bytes, and ours have a prefix and a suffix to carry. */
export const TABLE_NAME_CHARS_MAX = 48;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Prefixes of what the databases and we ourselves keep there. */
const RESERVED = /^(_tg_|tidegate_|sqlite_|pg_)/i;
const COLUMN_TYPES: ReadonlySet<unknown> = new Set(["text", "integer", "real", "boolean"]);
const CHOICES: ReadonlySet<unknown> = new Set(["delete", "keep"]);

/** All that is wrong with the tables, each in a sentence; they may come from code without types. */
export function tableProblems(sink: TableSinkSpec): string[] {
  const names = Object.keys(sink.tables ?? {});
  const problems = [...countProblems("tables", names, TABLES_MAX), ...twins("table", names)];
  for (const choice of ["onRemoved", "onReplaced"] as const) {
    if (!CHOICES.has(sink[choice])) problems.push(`${choice} must be "delete" or "keep"`);
  }
  const { database } = sink;
  if (database !== null && (typeof database !== "string" || database === "")) {
    problems.push("database must be the path of a SQLite file or a postgres:// URL");
  }
  for (const [name, table] of Object.entries(sink.tables ?? {})) {
    problems.push(...nameProblems("table", name), ...columnProblems(name, table));
  }
  return problems;
}

function columnProblems(table: string, { columns, key }: TableSpec): string[] {
  const names = Object.keys(columns ?? {});
  const problems = countProblems(`columns in the table ${table}`, names, TABLE_COLUMNS_MAX);
  problems.push(...twins(`column of ${table}`, names));
  for (const [name, type] of Object.entries(columns ?? {})) {
    problems.push(...nameProblems(`column of ${table}`, name));
    if (!COLUMN_TYPES.has(type)) {
      problems.push(`the column ${table}.${name} must be text, integer, real or boolean`);
    }
  }
  if (!Array.isArray(key) || key.length === 0) {
    return [...problems, `table ${table} needs a key: the columns that make a row one`];
  }
  if (new Set(key).size < key.length) problems.push(`table ${table} has a key column twice`);
  for (const column of key) {
    if (names.includes(column)) continue;
    problems.push(`table ${table} has the key column ${column} but no such column`);
  }
  return problems;
}

function countProblems(what: string, names: readonly string[], max: number): string[] {
  return names.length >= 1 && names.length <= max ? [] : [`there must be 1 to ${max} ${what}`];
}

function nameProblems(what: string, name: string): string[] {
  const told = JSON.stringify(name);
  if (!NAME.test(name) || name.length > TABLE_NAME_CHARS_MAX) {
    const rule = `1 to ${TABLE_NAME_CHARS_MAX} letters, digits or underscores, a letter first`;
    return [`the ${what} ${told} must be ${rule}`]; // B1
  }
  return RESERVED.test(name) ? [`the ${what} ${told} has a reserved prefix`] : [];
}

/** B2 */
function twins(what: string, names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.flatMap((name) => {
    const folded = name.toLowerCase();
    if (seen.has(folded)) return [`the ${what} ${JSON.stringify(name)} is there twice`];
    seen.add(folded);
    return [];
  });
}
