// Plan: turns the effects of one record into statements.
//   N1. A row is identified by its key columns, never by its content: a corrected row replaces the
//       wrong one.
//   N2. Of several effects of one record on one row, only the last is sent to the database.
//   N3. Rows are written in key order, so that two records lock shared rows in the same order.
//   N4. A record with an invalid row is rejected as a whole, with the row's position; nothing is
//       planned.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { TidegateError } from "../../core/errors.ts";
import { sequencerOrder } from "../../core/events/sequencer.ts";
import { SINK_FENCE, type SinkWrite } from "../../core/sink-write.ts";
import type { ColumnType, TableSinkSpec, TableSpec } from "../../core/table-spec.ts";
import type { ColumnValue, Effect, EffectOrigin, SinkRow } from "../../ports/sink.ts";
import type { Dialect } from "./dialect.ts";
import { databaseValue, valueProblem } from "./row-values.ts";
import { registerStatement, type TableStatements, tableStatements } from "./statements.ts";

/** Effects of one record. All of them are in memory, and in one transaction. */
export const EFFECT_ROWS_MAX = 100_000;
/** Bytes of all parameters of one record: each row, and once more its key. */
export const EFFECT_BYTES_MAX = 67_108_864;
/** Hexadecimal digits stored of a row's hash. */
const HASH_CHARS = 32;

interface PlannedTable {
  readonly name: string;
  readonly spec: TableSpec;
  readonly columns: readonly (readonly [string, ColumnType])[];
  /** Column names in hashing order; the order in the spec may change. */
  readonly hashed: readonly string[];
  readonly statements: TableStatements;
}

/** Rows of one table as JSON, by their key as JSON. */
type PlannedRows = Map<string, string>;

export type Plan = (effects: readonly Effect[], origin: EffectOrigin) => readonly SinkWrite[];

export function createPlan(sink: TableSinkSpec, dialect: Dialect): Plan {
  const tables = new Map<string, PlannedTable>();
  for (const [name, spec] of Object.entries(sink.tables)) {
    const columns = Object.entries(spec.columns);
    const hashed = columns.map(([column]) => column).sort();
    const statements = tableStatements(dialect, name, spec);
    tables.set(name, { name, spec, columns, hashed, statements });
  }
  const register = registerStatement(dialect, sink.tables);
  return (effects, origin) => {
    const rows = gather(tables, effects);
    const { object, key, eventTime } = origin;
    if (object === null) return ofMessage(tables, rows, origin);
    const name = `s3://${object.bucket}/${object.key}`;
    const sequencer = sequencerOrder(object.sequencer ?? "");
    const sweeps = (object.removed ? sink.onRemoved : sink.onReplaced) === "delete";
    const writes: SinkWrite[] = [
      { statement: register, params: [name, sequencer, eventTime, key, SINK_FENCE] },
    ];
    for (const [table, { statements }] of tables) {
      const list = sorted(rows.get(table));
      // Before the new rows exist, so that an object's first version has nothing to compare.
      if (sweeps) {
        const keys = jsonList(list.map(([rowKey]) => rowKey));
        writes.push({ statement: statements.sweep, params: [keys, name, key, SINK_FENCE] });
      }
      if (list.length === 0) continue;
      const json = jsonList(list.map(([, row]) => row));
      const params = [json, name, eventTime, key, SINK_FENCE] as const;
      writes.push({ statement: statements.ofObject, params });
    }
    return writes;
  };
}

function ofMessage(
  tables: ReadonlyMap<string, PlannedTable>,
  rows: ReadonlyMap<string, PlannedRows>,
  { key, eventTime }: EffectOrigin,
): SinkWrite[] {
  return [...tables].flatMap(([table, { statements }]) => {
    const list = sorted(rows.get(table));
    if (list.length === 0) return [];
    const json = jsonList(list.map(([, row]) => row));
    const params = [json, "", eventTime, key, SINK_FENCE] as const;
    return [{ statement: statements.ofMessage, params }];
  });
}

function sorted(rows: PlannedRows | undefined): (readonly [string, string])[] {
  return [...(rows ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)); // N3
}

function jsonList(items: readonly string[]): string {
  return `[${items.join(",")}]`;
}

/** The last effect on each row (N2), checked and as JSON. */
function gather(
  tables: ReadonlyMap<string, PlannedTable>,
  effects: readonly Effect[],
): Map<string, PlannedRows> {
  if (effects.length > EFFECT_ROWS_MAX) {
    refuse(`${effects.length} effects of one record, over ${EFFECT_ROWS_MAX}; split the object`);
  }
  const all = new Map<string, PlannedRows>();
  let bytes = 0;
  for (const [index, effect] of effects.entries()) {
    if (effect.kind === "custom") refuse("a table accepts upserts and deletes, not emitted values");
    const position = `row ${index + 1} of table ${effect.table}`;
    const table =
      tables.get(effect.table) ??
      refuse(`${position}: unknown table; add it to tables() in the pipeline`);
    const [key, row] =
      effect.kind === "upsert"
        ? upserted(table, effect.row, position)
        : deleted(table, effect.key, position);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(row) + 2;
    if (bytes > EFFECT_BYTES_MAX) {
      refuse(`the rows of one record are over ${EFFECT_BYTES_MAX} bytes; split the object`);
    }
    const rows = all.get(effect.table) ?? new Map<string, string>();
    rows.set(key, row); // N1
    all.set(effect.table, rows);
  }
  return all;
}

function upserted(table: PlannedTable, row: SinkRow, position: string): [string, string] {
  const value = reader(table, row, position);
  const values = table.columns.map(([name]) => value(name));
  return [keyOf(table, value), JSON.stringify([...values, hashOf(table, value), false])];
}

function deleted(table: PlannedTable, key: SinkRow, position: string): [string, string] {
  const { spec } = table;
  const value = reader(table, key, position);
  const stray = Object.keys(key).find((name) => !spec.key.includes(name));
  if (stray !== undefined)
    refuse(`${position}: ${stray} is not a key column; a delete names key columns only`);
  const values = table.columns.map(([name]) => (spec.key.includes(name) ? value(name) : null));
  // No row has this hash, so a delete never equals a row.
  return [keyOf(table, value), JSON.stringify([...values, "", true])];
}

type ReadValue = (column: string) => ColumnValue;

/** Returns the checked values of a row by column; null for omitted ones. */
function reader({ spec }: PlannedTable, row: SinkRow, position: string): ReadValue {
  if (typeof row !== "object" || row === null) refuse(`${position}: a row must be an object`);
  for (const [name, value] of Object.entries(row)) {
    const type = Object.hasOwn(spec.columns, name) ? spec.columns[name] : undefined;
    if (type === undefined) refuse(`${position}: unknown column ${JSON.stringify(name)}`);
    const problem = value === undefined ? null : valueProblem(type, value);
    if (problem !== null) refuse(`${position}: column ${name} ${problem}`); // N4
  }
  const value: ReadValue = (column) =>
    databaseValue((Object.hasOwn(row, column) ? row[column] : null) ?? null);
  for (const name of spec.key) {
    if (value(name) === null) refuse(`${position}: key column ${name} is missing`);
  }
  return value;
}

function keyOf({ spec }: PlannedTable, value: ReadValue): string {
  return JSON.stringify(spec.key.map(value));
}

/** Skips nulls, so that a column added to the table changes no hash. */
function hashOf({ hashed }: PlannedTable, value: ReadValue): string {
  const content = hashed.flatMap((name) => (value(name) === null ? [] : [name, value(name)]));
  return sha256Hex(JSON.stringify(content)).slice(0, HASH_CHARS);
}

function refuse(message: string): never {
  throw new TidegateError("TG_SINK_REFUSED", message);
}
