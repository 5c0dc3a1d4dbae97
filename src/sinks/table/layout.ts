// Layout: what the sink keeps in a database, and how a database is brought to it.
//   Y1. A table `x` of a pipeline is a view over `_tg_x`, which has a row for each writer of a row:
//       an object, or all messages together. The view shows the one of the latest writer, so that
//       what a writer takes back uncovers what another had written, whichever came first.
//   Y2. The rank of an object's rows is that of its newest applied event, kept in OBJECTS_TABLE. So
//       a new version that has a row unchanged need not write it to lift it.
//   Y3. Columns may be added. Anything else that differs is refused, as mending it would lose rows.
//   Y4. A relation that we did not make is never touched.

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
  /** As the dialect spells it in `columnTypes`. */
  readonly type: string;
  /** Place in the primary key from 1, or 0. */
  readonly keyPlace: number;
}

/** What a database holds under some name. */
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

/** The view of the rows that count (Y1, Y2); its columns are in the order in which they came. */
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

/** The statements that bring a database to the layout, or a refusal that says all that differs. */
export function layoutSteps(
  dialect: Dialect,
  tables: TablesSpec,
  describe: (name: string) => Relation | null,
): string[] {
  const steps = [createObjects(dialect)];
  const problems: string[] = [];
  for (const [table, spec] of Object.entries(tables)) {
    const found = { view: describe(table), rows: describe(rowsTable(table)) };
    const differences = differencesOf(dialect, table, spec, found);
    problems.push(...differences);
    if (differences.length === 0) steps.push(...tableSteps(dialect, table, spec, found));
  }
  if (problems.length > 0) {
    const message = `the sink's tables cannot be used: ${problems.join("; ")}`;
    throw new TidegateError("TG_CONFIG_INVALID", message); // Y3
  }
  return steps;
}

interface Found {
  readonly view: Relation | null;
  readonly rows: Relation | null;
}

function isOwn(name: string): boolean {
  return name.startsWith("_tg_");
}

function differencesOf(dialect: Dialect, table: string, spec: TableSpec, found: Found): string[] {
  const { view, rows } = found;
  if (view !== null && (view.kind !== "view" || rows === null)) {
    return [`there is a ${view.kind} ${table} already, which Tidegate did not make`]; // Y4
  }
  if (rows === null) return [];
  const key = rows.columns.filter(({ keyPlace }) => keyPlace > 0);
  const keyNames = key.toSorted((a, b) => a.keyPlace - b.keyPlace).map(({ name }) => name);
  const wantedKey = [...spec.key, "_tg_object"];
  const problems: string[] = [];
  if (keyNames.join() !== wantedKey.join()) {
    const told = keyNames.filter((name) => !isOwn(name)).join(", ");
    problems.push(`${table} has the key (${told}), the pipeline says (${spec.key.join(", ")})`);
  }
  for (const { name, type } of rows.columns.filter((column) => !isOwn(column.name))) {
    const wanted = spec.columns[name];
    if (wanted === undefined) {
      problems.push(`${table} has a column ${name}, which the pipeline does not name`);
    } else if (type !== dialect.columnTypes[wanted]) {
      problems.push(`${table}.${name} is ${type}, the pipeline says ${wanted}`);
    }
  }
  const there = new Set(rows.columns.map(({ name }) => name));
  for (const { name } of ownColumns(dialect)) {
    if (!there.has(name)) problems.push(`${rowsTable(table)} lacks the column ${name}`);
  }
  return problems;
}

function tableSteps(dialect: Dialect, table: string, spec: TableSpec, found: Found): string[] {
  const { rows, view } = found;
  const given = Object.keys(spec.columns);
  if (rows === null) {
    return [...createRows(dialect, table, spec), createView(table, given, spec.key)];
  }
  const there = rows.columns.map(({ name }) => name).filter((name) => !isOwn(name));
  const added = given.filter((name) => !there.includes(name));
  const steps = added.map((name) => {
    const type = dialect.columnTypes[spec.columns[name] ?? "text"];
    return `ALTER TABLE ${quotedName(rowsTable(table))} ADD COLUMN ${quotedName(name)} ${type}`;
  });
  const columns = [...there, ...added];
  const shown = view?.columns.map(({ name }) => name).join();
  if (shown === columns.join()) return steps;
  const wanted = createView(table, columns, spec.key);
  return [...steps, ...(view === null ? [wanted] : dialect.replaceView(table, wanted))];
}
