// Table spec: the tables that a pipeline writes rows to. A pipeline file declares them (ingest),
// the table sink creates and fills them (sinks/table).
//   B1. Names of created tables consist of letters, digits and underscores, so that they mean the
//       same to every database and cannot end a quoted name.
//   B2. SQLite treats names that differ only in case as equal, and so does Tidegate.
//   B3. An existing table belongs to the user: any name that the database accepts is valid.

/** Types that have one meaning in every database. */
export const SCALAR_TYPES = [
  "text",
  "integer",
  "bigint",
  "decimal",
  "real",
  "boolean",
  "date",
  "timestamp",
  "json",
  "bytes",
  "uuid",
] as const;

export type ScalarType = (typeof SCALAR_TYPES)[number];
/** Digits in total and after the point, as in SQL. */
export type SizedDecimal = `decimal(${number},${number})`;
/** Arrays need PostgreSQL. */
export type ArrayType = `${ScalarType}[]`;
export type ColumnType = ScalarType | SizedDecimal | ArrayType;

/** A table that Tidegate creates. */
export interface CreatedTableSpec {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The columns that identify a row. */
  readonly key: readonly string[];
  readonly existing?: false;
}

/** A table that the user creates and migrates; its name may have a schema in PostgreSQL. */
export interface ExistingTableSpec {
  readonly existing: true;
  /** The columns that identify a row; the table must have a unique index on them. */
  readonly key: readonly string[];
  /** The columns that the pipeline writes. Default: all without a default of their own. */
  readonly columns?: readonly string[];
}

export type TableSpec = CreatedTableSpec | ExistingTableSpec;
export type TablesSpec = Readonly<Record<string, TableSpec>>;

/** Tables in the ledger's database or in a separate one; created by `tables()`. */
export interface TableSinkSpec<T extends TablesSpec = TablesSpec> {
  readonly kind: "tables";
  readonly tables: T;
  /** Null: the ledger's database, so that rows and ledger are one transaction. */
  readonly database: string | null;
  /** What happens to rows that a newer version of the object no longer contains. */
  readonly onReplaced: "delete" | "keep";
  /** No tables: the handler writes with statements of its own. */
  readonly onlySql?: boolean;
}

export const TABLES_MAX = 64;
export const TABLE_COLUMNS_MAX = 256;
/** PostgreSQL truncates names at 63 bytes, and the sink adds a prefix and a suffix. */
export const TABLE_NAME_CHARS_MAX = 48;
const EXISTING_NAME_CHARS_MAX = 63;
const DECIMAL_DIGITS_MAX = 1_000;
const NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Prefixes that the databases and Tidegate use. */
const RESERVED = /^(_tg_|tidegate_|sqlite_|pg_)/i;
const SCALARS: ReadonlySet<unknown> = new Set(SCALAR_TYPES);
const SIZED = /^decimal\((\d{1,4}),(\d{1,4})\)$/;
/** Values of these types have no order or no equality in every database. */
const NOT_IN_KEYS: ReadonlySet<unknown> = new Set(["json", "bytes"]);
const CHOICES: ReadonlySet<unknown> = new Set(["delete", "keep"]);

export interface TypeFacts {
  readonly scalar: ScalarType;
  readonly isArray: boolean;
  /** Digits in total and after the point of a sized decimal. */
  readonly digits: { readonly total: number; readonly scale: number } | null;
}

/** The parts of a column type, or null if it is not one. */
export function parseColumnType(type: unknown): TypeFacts | null {
  if (typeof type !== "string") return null;
  const isArray = type.endsWith("[]");
  const element = isArray ? type.slice(0, -2) : type;
  if (SCALARS.has(element)) return { scalar: element as ScalarType, isArray, digits: null };
  const sized = SIZED.exec(element);
  if (sized === null || isArray) return null;
  const [total, scale] = [Number(sized[1]), Number(sized[2])];
  if (total < 1 || total > DECIMAL_DIGITS_MAX || scale > total) return null;
  return { scalar: "decimal", isArray, digits: { total, scale } };
}

/** All problems of the tables, one sentence each; the spec may come from untyped code. */
export function tableProblems(sink: TableSinkSpec): string[] {
  const names = Object.keys(sink.tables ?? {});
  const counts = sink.onlySql === true ? [] : countProblems("tables", names, TABLES_MAX);
  const problems = [...counts, ...twins("table", names)];
  if (!CHOICES.has(sink.onReplaced)) problems.push('onReplaced must be "delete" or "keep"');
  const { database } = sink;
  if (database !== null && (typeof database !== "string" || database === "")) {
    problems.push("database must be the path of a SQLite file or a postgres:// URL");
  }
  for (const [name, table] of Object.entries(sink.tables ?? {})) {
    if (table?.existing === true) problems.push(...existingProblems(name, table));
    else problems.push(...nameProblems("table", name), ...columnProblems(name, table));
  }
  return problems;
}

function columnProblems(table: string, { columns, key }: CreatedTableSpec): string[] {
  const names = Object.keys(columns ?? {});
  const problems = countProblems(`columns in the table ${table}`, names, TABLE_COLUMNS_MAX);
  problems.push(...twins(`column of ${table}`, names));
  for (const [name, type] of Object.entries(columns ?? {})) {
    problems.push(...nameProblems(`column of ${table}`, name));
    if (parseColumnType(type) === null) {
      problems.push(typeProblem(`${table}.${name}`, type));
    }
  }
  problems.push(...keyProblems(table, key));
  for (const column of Array.isArray(key) ? key : []) {
    const type = names.includes(column) ? columns[column] : undefined;
    if (type === undefined) {
      problems.push(`key column ${column} of table ${table} is not one of its columns`);
    } else if (NOT_IN_KEYS.has(type) || String(type).endsWith("[]")) {
      problems.push(`key column ${column} of table ${table} must not be ${type}`);
    }
  }
  return problems;
}

/** The SQL names that people write first, and the types that they mean. */
const SQL_NAMES: ReadonlyMap<string, ScalarType> = new Map([
  ["varchar", "text"],
  ["char", "text"],
  ["string", "text"],
  ["int", "integer"],
  ["smallint", "integer"],
  ["number", "real"],
  ["float", "real"],
  ["double", "real"],
  ["double precision", "real"],
  ["numeric", "decimal"],
  ["bool", "boolean"],
  ["timestamptz", "timestamp"],
  ["datetime", "timestamp"],
  ["jsonb", "json"],
  ["bytea", "bytes"],
  ["blob", "bytes"],
]);

function typeProblem(column: string, type: unknown): string {
  const sqlName = typeof type === "string" ? type.toLowerCase().replace(/\s*\(.*$/s, "") : "";
  const meant = SQL_NAMES.get(sqlName);
  const fix =
    meant === undefined
      ? `use ${SCALAR_TYPES.join(", ")}, decimal(digits,scale), or one of them with [] for an array`
      : `use "${meant}"`;
  return `unknown type ${JSON.stringify(type) ?? typeof type} of column ${column}; ${fix}`;
}

/** B3 */
function existingProblems(table: string, { key, columns }: ExistingTableSpec): string[] {
  const problems: string[] = [];
  const parts = table.split(".");
  if (parts.length > 2 || parts.some((part) => !isExistingName(part))) {
    problems.push(`the table ${JSON.stringify(table)} must be a name, or a schema and a name`);
  }
  if (RESERVED.test(parts.at(-1) ?? "")) {
    problems.push(`the table ${JSON.stringify(table)} has a reserved prefix`);
  }
  problems.push(...keyProblems(table, key));
  if (columns === undefined) return problems;
  if (!Array.isArray(columns)) {
    return [...problems, `columns of the existing table ${table} must be a list of names`];
  }
  problems.push(...twins(`column of ${table}`, columns));
  for (const column of Array.isArray(key) ? key : []) {
    if (columns.includes(column)) continue;
    problems.push(`key column ${column} of table ${table} is not one of its columns`);
  }
  return problems;
}

function isExistingName(name: string): boolean {
  return name !== "" && name.length <= EXISTING_NAME_CHARS_MAX && !name.includes("\0");
}

function keyProblems(table: string, key: unknown): string[] {
  if (!Array.isArray(key) || key.length === 0) {
    return [`table ${table} needs a key: the columns that identify a row`];
  }
  return new Set(key).size < key.length ? [`table ${table} has a key column twice`] : [];
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
