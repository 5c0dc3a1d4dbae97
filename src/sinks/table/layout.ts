// Layout: the sink's relations in a database, and the migration to them.
//   Y1. A created table has the columns of the pipeline and no others. The bookkeeping is in side
//       tables, under a reserved prefix.
//   Y2. An existing table is never changed. It is checked, and only side tables are created.
//   Y3. Columns may be added. Any other difference is rejected with its fix, as fixing it here
//       would lose rows.
//   Y4. A relation that Tidegate did not create is never touched, and neither is one of an earlier
//       design.
//   Y5. A register without the column `added` gets it, with true for all its objects: whether rows
//       were added to them is not known, and a promotion must not lose such rows.
//   Y6. A register without the columns of digests gets them, without values: what its objects wrote
//       is not known, and an audit says so until their next event.

import { TidegateError } from "../../core/errors.ts";
import type { CreatedTableSpec, TablesSpec } from "../../core/table-spec.ts";
import type { TableColumn } from "./column.ts";
import type { Dialect } from "./databases/dialect.ts";
import { existingShape } from "./existing-table.ts";
import {
  openIndex,
  othersTable,
  ownersTable,
  quotedName,
  STAGES_TABLE,
  WRITERS_TABLE,
  writerIndex,
} from "./names.ts";
import type { Describe, Relation } from "./relation.ts";
import { createdShape, type TableShape } from "./shape.ts";

/** The register of an earlier design, which had views in place of tables. */
const EARLIER_TABLE = "tidegate_sink_objects";

export interface Layout {
  /** Statements that migrate the database, in order. */
  readonly steps: readonly string[];
  readonly shapes: ReadonlyMap<string, TableShape>;
}

/** Relations that `layoutOf` describes. */
export function relationsOf(tables: TablesSpec): string[] {
  const own = Object.keys(tables).flatMap((name) => [name, ownersTable(name), othersTable(name)]);
  return [...own, WRITERS_TABLE, EARLIER_TABLE];
}

/** The statements that migrate a database to the layout; throws with all differences. */
export function layoutOf(dialect: Dialect, tables: TablesSpec, describe: Describe): Layout {
  if (describe(EARLIER_TABLE) !== null) refuse([earlierDesign(tables)]); // Y4
  const stages = dialect.name === "sqlite" ? [] : [createStages(dialect)];
  const steps = [...writersSteps(dialect, describe(WRITERS_TABLE)), ...stages];
  const problems: string[] = [];
  const shapes = new Map<string, TableShape>();
  for (const [table, spec] of Object.entries(tables)) {
    const target = describe(table);
    const owners = describe(ownersTable(table));
    const shape =
      spec.existing === true
        ? existingShape(dialect, table, spec, target)
        : createdShape(dialect, table, spec);
    if ("problems" in shape) {
      problems.push(...shape.problems);
      continue;
    }
    problems.push(...keyDifferences(shape, owners));
    if (spec.existing !== true)
      problems.push(...differencesOf(dialect, spec, shape, target, owners));
    shapes.set(table, shape);
    if (spec.existing !== true) steps.push(...targetSteps(dialect, shape, target));
    steps.push(...sideSteps(dialect, shape, owners, describe(othersTable(table))));
  }
  if (problems.length > 0) refuse(problems); // Y3
  return { steps, shapes };
}

function refuse(problems: readonly string[]): never {
  const message = `the sink's tables cannot be used: ${problems.join("; ")}`;
  throw new TidegateError("TG_CONFIG_INVALID", message);
}

function earlierDesign(tables: TablesSpec): string {
  const names = Object.keys(tables).map((table) => `the view ${table}, the table _tg_${table}`);
  return (
    "an earlier version of Tidegate left tables with another layout; drop " +
    `${names.join(", ")} and the table ${EARLIER_TABLE}, then ingest the objects again`
  );
}

function writersSteps(dialect: Dialect, writers: Relation | null): string[] {
  const { serial, byteText, integer, boolean } = dialect;
  const added = `added ${boolean} NOT NULL DEFAULT true`;
  const digest = [`row_count ${integer}`, `row_digest ${byteText}`];
  if (writers !== null) {
    const missing = (name: string) => !writers.columns.some((column) => column.name === name);
    return [
      ...(missing("added") ? [added] : []), // Y5
      ...digest.filter((column) => missing(column.split(" ", 1)[0] ?? "")), // Y6
    ].map((column) => `ALTER TABLE ${WRITERS_TABLE} ADD COLUMN ${column}`);
  }
  return [
    `CREATE TABLE IF NOT EXISTS ${WRITERS_TABLE} (id ${serial},
      table_name ${byteText} NOT NULL, object ${byteText} NOT NULL, sequencer ${byteText} NOT NULL,
      event_time ${integer} NOT NULL, record_key ${byteText} NOT NULL, fence ${integer} NOT NULL,
      ${[added, ...digest].join(", ")}, UNIQUE (table_name, object))`,
  ];
}

/** The list of stages. That of SQLite belongs to a connection, as its stages do. */
export function stagesTable({ name }: Dialect): string {
  return name === "sqlite" ? `temp.${STAGES_TABLE}` : STAGES_TABLE;
}

export function createStages(dialect: Dialect): string {
  const { byteText, integer, clustered } = dialect;
  return `CREATE TABLE IF NOT EXISTS ${stagesTable(dialect)} (id ${byteText} PRIMARY KEY,
    record_key ${byteText} NOT NULL, fence ${integer} NOT NULL, expires_at ${integer} NOT NULL,
    tables ${byteText} NOT NULL, staged ${integer} NOT NULL)${clustered}`;
}

function declared(columns: readonly TableColumn[], key: readonly string[]): string[] {
  return columns.map(({ name, quoted, native }) =>
    [quoted, native, ...(key.includes(name) ? ["NOT NULL"] : [])].join(" "),
  );
}

function keyDifferences({ name, key }: TableShape, owners: Relation | null): string[] {
  if (owners === null) return [];
  const stored = owners.columns
    .filter(({ keyPosition }) => keyPosition > 0)
    .toSorted((a, b) => a.keyPosition - b.keyPosition)
    .map((column) => column.name);
  if (stored.join() === key.join()) return [];
  const names = stored.join(", ");
  return [
    `${name} has the key (${names}), but the pipeline has (${key.join(", ")}); ` +
      "define a table with another name and ingest the objects again",
  ];
}

function differencesOf(
  dialect: Dialect,
  spec: CreatedTableSpec,
  { name: table, columns }: TableShape,
  target: Relation | null,
  owners: Relation | null,
): string[] {
  const arrays = columns.filter(({ type }) => type !== "native" && type.isArray);
  if (dialect.name === "sqlite" && arrays.length > 0) {
    const names = arrays.map(({ name }) => `${table}.${name}`).join(", ");
    return [`${names} is an array, which needs PostgreSQL; use json`];
  }
  if (target === null) {
    if (owners === null) return [];
    const fix = `drop ${ownersTable(table)} and ${othersTable(table)} as well, or restore the table`;
    return [`the table ${table} was dropped without its bookkeeping; ${fix}`];
  }
  if (target.kind !== "table" || owners === null) {
    const fix = "use another name, or { existing: true } to write to it";
    return [`a ${target.kind} ${table} already exists, which Tidegate did not create; ${fix}`]; // Y4
  }
  const stored = new Map(target.columns.map((column) => [column.name, column.type]));
  const problems = columns.flatMap((column) => {
    const type = stored.get(column.name);
    return type === undefined || type === column.native
      ? []
      : [retyped(dialect, table, column, type, spec)];
  });
  for (const name of stored.keys()) {
    if (Object.hasOwn(spec.columns, name)) continue;
    const fix = `add it, or run ALTER TABLE ${quotedName(table)} DROP COLUMN ${quotedName(name)}`;
    problems.push(`${table} has a column ${name}, which the pipeline does not have; ${fix}`);
  }
  return problems;
}

function retyped(
  { name: dialect }: Dialect,
  table: string,
  { name, quoted, native }: TableColumn,
  type: string,
  spec: CreatedTableSpec,
): string {
  const alter = `ALTER TABLE ${quotedName(table)}`;
  const fix =
    dialect === "postgres"
      ? `run ${alter} ALTER COLUMN ${quoted} TYPE ${native} USING ${quoted}::text::${native}`
      : `run ${alter} RENAME COLUMN ${quoted} TO ${quotedName(`${name}_old`)}, start once with ` +
        `${name}_old in tables(), and copy the values`;
  return `${table}.${name} is ${type}, but the pipeline has ${spec.columns[name]}; ${fix}`;
}

function targetSteps(dialect: Dialect, shape: TableShape, target: Relation | null): string[] {
  const { columns, key, keyColumns } = shape;
  if (target === null) {
    const primary = keyColumns.map(({ quoted }) => quoted).join(", ");
    return [
      `CREATE TABLE ${shape.target} (${declared(columns, key).join(", ")},
        PRIMARY KEY (${primary}))${dialect.clustered}`,
    ];
  }
  const stored = new Set(target.columns.map(({ name }) => name));
  const added = columns.filter(({ name }) => !stored.has(name));
  return added.map(
    ({ quoted, native }) => `ALTER TABLE ${shape.target} ADD COLUMN ${quoted} ${native}`,
  );
}

function sideSteps(
  dialect: Dialect,
  shape: TableShape,
  owners: Relation | null,
  others: Relation | null,
): string[] {
  const { name, key, keyColumns, valueColumns } = shape;
  const { integer, boolean, anyType } = dialect;
  const rank = `_tg_writer ${integer} NOT NULL, _tg_time ${integer} NOT NULL,
    _tg_tie ${integer} NOT NULL, _tg_fence ${integer} NOT NULL, _tg_deleted ${boolean} NOT NULL`;
  const keys = keyColumns.map(({ quoted }) => quoted).join(", ");
  const values = valueColumns.map(({ quoted }) => `${quoted} ${anyType}`);
  const [ownersName, othersName] = [quotedName(ownersTable(name)), quotedName(othersTable(name))];
  const index = (indexName: string, rest: string) =>
    `CREATE INDEX ${quotedName(indexName)} ON ${rest}`;
  const steps: string[] = [];
  if (owners === null) {
    steps.push(
      `CREATE TABLE ${ownersName} (${declared(keyColumns, key).join(", ")}, ${rank},
        _tg_open ${boolean} NOT NULL, PRIMARY KEY (${keys}))${dialect.clustered}`,
      index(openIndex(name), `${ownersName} (${keys}) WHERE _tg_open`),
      index(writerIndex(name, "owners"), `${ownersName} (_tg_writer) WHERE _tg_writer <> 0`),
    );
  }
  if (others === null) {
    const columns = [...declared(keyColumns, key), ...values, rank].join(", ");
    steps.push(
      `CREATE TABLE ${othersName} (${columns}, PRIMARY KEY (${keys}, _tg_writer))${dialect.clustered}`,
      index(writerIndex(name, "others"), `${othersName} (_tg_writer) WHERE _tg_writer <> 0`),
    );
    return steps;
  }
  const stored = new Set(others.columns.map((column) => column.name));
  for (const column of valueColumns.filter((one) => !stored.has(one.name))) {
    steps.push(`ALTER TABLE ${othersName} ADD COLUMN ${column.quoted} ${anyType}`);
  }
  return steps;
}
