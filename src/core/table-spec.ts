// Table spec: the tables that a pipeline writes rows to. A pipeline file declares them (ingest),
// the table sink creates and fills them (sinks/table).
//   B1. Names consist of letters, digits and underscores, so that they mean the same to every
//       database and cannot end a quoted name.
//   B2. SQLite treats names that differ only in case as equal, and so does Tidegate.

export type ColumnType = "text" | "integer" | "real" | "boolean";

export interface TableSpec {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that identify a row. */
  readonly key: readonly string[];
}

export type TablesSpec = Readonly<Record<string, TableSpec>>;

/** Tables in the ledger's database or in a separate one; created by `tables()`. */
export interface TableSinkSpec<T extends TablesSpec = TablesSpec> {
  readonly kind: "tables";
  readonly tables: T;
  /** Null: the ledger's database, so that rows and ledger are one transaction. */
  readonly database: string | null;
  /** What happens to an object's rows when the object is deleted. */
  readonly onRemoved: "delete" | "keep";
  /** What happens to rows that a newer version of the object no longer contains. */
  readonly onReplaced: "delete" | "keep";
}

export const TABLES_MAX = 64;
export const TABLE_COLUMNS_MAX = 256;
/** PostgreSQL truncates names at 63 bytes, and the sink adds a prefix and a suffix. */
export const TABLE_NAME_CHARS_MAX = 48;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Prefixes that the databases and Tidegate use. */
const RESERVED = /^(_tg_|tidegate_|sqlite_|pg_)/i;
const COLUMN_TYPES: ReadonlySet<unknown> = new Set(["text", "integer", "real", "boolean"]);
const CHOICES: ReadonlySet<unknown> = new Set(["delete", "keep"]);

/** All problems of the tables, one sentence each; the spec may come from untyped code. */
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
    return [...problems, `table ${table} needs a key: the columns that identify a row`];
  }
  if (new Set(key).size < key.length) problems.push(`table ${table} has a key column twice`);
  for (const column of key) {
    if (names.includes(column)) continue;
    problems.push(`key column ${column} of table ${table} is not one of its columns`);
  }
  return problems;
}

function countProblems(what: string, names: readonly string[], max: number): string[] {
  return names.length >= 1 && names.length <= max ? [] : [`there must be 1 to ${max} ${what}`];
}

function nameProblems(what: string, name: string): string[] {
  const quoted = JSON.stringify(name);
  if (!NAME.test(name) || name.length > TABLE_NAME_CHARS_MAX) {
    const rule = `1 to ${TABLE_NAME_CHARS_MAX} letters, digits or underscores, a letter first`;
    return [`the ${what} ${quoted} must be ${rule}`]; // B1
  }
  return RESERVED.test(name) ? [`the ${what} ${quoted} has a reserved prefix`] : [];
}

/** B2 */
function twins(what: string, names: readonly string[]): string[] {
  const occurred = new Set<string>();
  return names.flatMap((name) => {
    const folded = name.toLowerCase();
    if (occurred.has(folded)) return [`the ${what} ${JSON.stringify(name)} occurs twice`];
    occurred.add(folded);
    return [];
  });
}
