// Layout: the sink's relations in a database, and the migration to them.
//   Y1. A table `x` of a pipeline is a view over `_tg_x`, which has one row per writer of a row: an
//       object, or all messages together. The view shows the row of the latest writer. If a writer
//       removes its row, the row of another becomes visible, whichever was written first.
//   Y2. The rank of an object's rows is that of its newest applied event, stored in OBJECTS_TABLE.
//       So a new version with an unchanged row need not write it to raise it.
//   Y3. Columns may be added. Any other difference is rejected, as fixing it would lose rows.
//   Y4. A relation that Tidegate did not create is never touched.

import { TidegateError } from "../../core/errors.ts";
import type { TableSpec, TablesSpec } from "../../core/table-spec.ts";
import { type Dialect, literal, quotedName } from "./dialect.ts";

/** Per table and object: the newest event that was applied. */
export const OBJECTS_TABLE = "tidegate_sink_objects";

export function rowsTable(table: string): string {
  return `_tg_${table}`;
}

export interface ExistingColumn {
  readonly name: string;
  /** As spelled in the dialect's `columnTypes`. */
  readonly type: string;
  /** Position in the primary key from 1, or 0. */
  readonly keyPosition: number;
}

/** A table, view or other relation of a database. */
export interface Relation {
  readonly kind: "table" | "view" | "other";
  readonly columns: readonly ExistingColumn[];
}

interface WantedColumn {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
}

function ownColumns(dialect: Dialect): WantedColumn[] {
  const { integer, boolean } = dialect.columnTypes;
  const own = (name: string, type: string): WantedColumn => ({ name, type, notNull: true });
  return [
    own("_tg_object", dialect.byteText),
    own("_tg_time", integer),
    own("_tg_key", dialect.byteText),
    own("_tg_fence", integer),
    own("_tg_hash", dialect.byteText),
    own("_tg_deleted", boolean),
  ];
}

function createObjects({ byteText, columnTypes, clustered }: Dialect): string {
  return `CREATE TABLE IF NOT EXISTS ${OBJECTS_TABLE} (
    table_name ${byteText} NOT NULL, object ${byteText} NOT NULL, sequencer ${byteText} NOT NULL,
    event_time ${columnTypes.integer} NOT NULL, record_key ${byteText} NOT NULL,
    fence ${columnTypes.integer} NOT NULL, PRIMARY KEY (table_name, object))${clustered}`;
}

function createRows(dialect: Dialect, table: string, { columns, key }: TableSpec): string[] {
  const given = Object.entries(columns).map(([name, type]): WantedColumn => {
    return { name, type: dialect.columnTypes[type], notNull: key.includes(name) };
  });
  const all = [...given, ...ownColumns(dialect)];
  const lines = all.map(
    ({ name, type, notNull }) => `${quotedName(name)} ${type}${notNull ? " NOT NULL" : ""}`,
  );
  const primary = [...key, "_tg_object"].map(quotedName).join(", ");
  const rows = quotedName(rowsTable(table));
  return [
    `CREATE TABLE ${rows} (${lines.join(", ")}, PRIMARY KEY (${primary}))${dialect.clustered}`,
    `CREATE INDEX ${quotedName(`${rowsTable(table)}_object`)} ON ${rows} (_tg_object)`,
  ];
}

/** The view of the visible rows (Y1, Y2); its columns are in the order they were added. */
export function createView(table: string, columns: readonly string[], key: TableSpec["key"]) {
  const rows = quotedName(rowsTable(table));
  const ranked = (alias: string, column: string, own: string) =>
    `COALESCE((SELECT r.${column} FROM ${OBJECTS_TABLE} AS r
      WHERE r.table_name = ${literal(table)} AND r.object = ${alias}._tg_object), ${alias}.${own})`;
  const rank = (alias: string) =>
    `(${ranked(alias, "event_time", "_tg_time")}, ${ranked(alias, "record_key", "_tg_key")})`;
  const sameKey = key.map((name) => `o.${quotedName(name)} = t.${quotedName(name)}`).join(" AND ");
  const shown = columns.map((name) => `t.${quotedName(name)}`).join(", ");
  return `CREATE VIEW ${quotedName(table)} AS SELECT ${shown} FROM ${rows} AS t
    WHERE NOT t._tg_deleted AND NOT EXISTS (SELECT 1 FROM ${rows} AS o
      WHERE ${sameKey} AND o._tg_object <> t._tg_object AND ${rank("o")} > ${rank("t")})`;
}

/** The statements that migrate a database to the layout; throws with all differences. */
export function layoutSteps(
  dialect: Dialect,
  tables: TablesSpec,
  describe: (name: string) => Relation | null,
): string[] {
  const steps = [createObjects(dialect)];
  const problems: string[] = [];
  for (const [table, spec] of Object.entries(tables)) {
    const existing = { view: describe(table), rows: describe(rowsTable(table)) };
    const differences = differencesOf(dialect, table, spec, existing);
    problems.push(...differences);
    if (differences.length === 0) steps.push(...tableSteps(dialect, table, spec, existing));
  }
  if (problems.length > 0) {
    const message = `the sink's tables cannot be used: ${problems.join("; ")}`;
    throw new TidegateError("TG_CONFIG_INVALID", message); // Y3
  }
  return steps;
}

interface ExistingRelations {
  readonly view: Relation | null;
  readonly rows: Relation | null;
}

function isOwn(name: string): boolean {
  return name.startsWith("_tg_");
}

function differencesOf(
  dialect: Dialect,
  table: string,
  spec: TableSpec,
  existing: ExistingRelations,
): string[] {
  const { view, rows } = existing;
  if (view !== null && (view.kind !== "view" || rows === null)) {
    return [`a ${view.kind} ${table} already exists, which Tidegate did not create`]; // Y4
  }
  if (rows === null) return [];
  const key = rows.columns.filter(({ keyPosition }) => keyPosition > 0);
  const keyNames = key.toSorted((a, b) => a.keyPosition - b.keyPosition).map(({ name }) => name);
  const wantedKey = [...spec.key, "_tg_object"];
  const problems: string[] = [];
  if (keyNames.join() !== wantedKey.join()) {
    const names = keyNames.filter((name) => !isOwn(name)).join(", ");
    problems.push(`${table} has the key (${names}), but the pipeline has (${spec.key.join(", ")})`);
  }
  for (const { name, type } of rows.columns.filter((column) => !isOwn(column.name))) {
    const wanted = spec.columns[name];
    if (wanted === undefined) {
      problems.push(`${table} has a column ${name}, which the pipeline does not have`);
    } else if (type !== dialect.columnTypes[wanted]) {
      problems.push(`${table}.${name} is ${type}, but the pipeline has ${wanted}`);
    }
  }
  const stored = new Set(rows.columns.map(({ name }) => name));
  for (const { name } of ownColumns(dialect)) {
    if (!stored.has(name)) problems.push(`${rowsTable(table)} has no column ${name}`);
  }
  return problems;
}

function tableSteps(
  dialect: Dialect,
  table: string,
  spec: TableSpec,
  existing: ExistingRelations,
): string[] {
  const { rows, view } = existing;
  const given = Object.keys(spec.columns);
  if (rows === null) {
    return [...createRows(dialect, table, spec), createView(table, given, spec.key)];
  }
  const stored = rows.columns.map(({ name }) => name).filter((name) => !isOwn(name));
  const added = given.filter((name) => !stored.includes(name));
  const steps = added.map((name) => {
    const type = dialect.columnTypes[spec.columns[name] ?? "text"];
    return `ALTER TABLE ${quotedName(rowsTable(table))} ADD COLUMN ${quotedName(name)} ${type}`;
  });
  const columns = [...stored, ...added];
  const shown = view?.columns.map(({ name }) => name).join();
  if (shown === columns.join()) return steps;
  const wanted = createView(table, columns, spec.key);
  return [...steps, ...(view === null ? [wanted] : dialect.replaceView(table, wanted))];
}
