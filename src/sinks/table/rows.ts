// Rows: the effects of a record as checked rows, ready for the database.
//   N1. A row is identified by its key columns, never by its content: a corrected row replaces the
//       wrong one.
//   N2. Of several effects of one record on one row, only the last is sent to the database.
//   N3. Rows are written in key order, so that two records lock shared rows in the same order.
//   N4. A record with an invalid row is rejected as a whole, with the row's position; nothing is
//       planned.

import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { SinkValue } from "../../core/sink-write.ts";
import type { Effect, SinkRow } from "../../ports/sink.ts";
import { ValueProblem } from "./row-values.ts";
import type { TableShape } from "./shape.ts";

export interface PlannedRow {
  /** In the order of the shape's columns; then 1 if the row is deleted, else 0. */
  readonly values: readonly SinkValue[];
  readonly deleted: boolean;
}

/** Rows of one table, by their key as text. */
export type PlannedRows = Map<string, PlannedRow>;

/** The last effect on each row (N2), checked. */
export function gatherRows(
  shapes: ReadonlyMap<string, TableShape>,
  effects: readonly Effect[],
): Map<string, PlannedRows> {
  const all = new Map<string, PlannedRows>();
  for (const [index, effect] of effects.entries()) {
    if (effect.kind === "sql") continue; // The plan runs it after all rows.
    const { shape, row } = checkedRow(shapes, effect, index + 1);
    const rows = all.get(shape.name) ?? new Map<string, PlannedRow>();
    rows.set(keyText(shape, row), row); // N1
    all.set(shape.name, rows);
  }
  return all;
}

/** The row of one effect; throws with its position (N4). */
export function checkedRow(
  shapes: ReadonlyMap<string, TableShape>,
  effect: Effect,
  position: number,
): { readonly shape: TableShape; readonly row: PlannedRow } {
  if (effect.kind === "custom" || effect.kind === "sql") {
    return refuse("a table accepts upserts and deletes, not emitted values");
  }
  const shape = shapes.get(effect.table);
  if (shape === undefined) {
    const problem = "unknown table; add it to tables() in the pipeline";
    return refuse(`row ${position} of table ${effect.table}: ${problem}`);
  }
  const row =
    effect.kind === "upsert"
      ? upserted(shape, effect.row, position)
      : deleted(shape, effect.key, position);
  return { shape, row };
}

export function sortedRows(rows: PlannedRows | undefined): PlannedRow[] {
  if (rows === undefined) return [];
  if (rows.size === 1) return [...rows.values()];
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row); // N3
}

function upserted(shape: TableShape, row: SinkRow, position: number): PlannedRow {
  checkNames(shape, row, position);
  return { values: encoded(shape, row, position, 0), deleted: false };
}

function deleted(shape: TableShape, key: SinkRow, position: number): PlannedRow {
  checkNames(shape, key, position);
  for (const name of Object.keys(key)) {
    if (shape.key.includes(name)) continue;
    refuseRow(shape, position, `${name} is not a key column; a delete names key columns only`);
  }
  return { values: encoded(shape, key, position, 1), deleted: true };
}

function checkNames(shape: TableShape, row: SinkRow, position: number): void {
  if (typeof row !== "object" || row === null) {
    refuseRow(shape, position, "a row must be an object");
  }
  for (const name of Object.keys(row)) {
    if (shape.names.has(name)) continue;
    const more = shape.unwritten.has(name)
      ? `; the database fills it in, so list it in "columns" of the existing table to write it`
      : "";
    refuseRow(shape, position, `unknown column ${JSON.stringify(name)}${more}`);
  }
}

/** N4 */
function encoded(shape: TableShape, row: SinkRow, position: number, flag: 0 | 1): SinkValue[] {
  const { columns, key } = shape;
  const values = new Array<SinkValue>(columns.length + 1);
  for (let at = 0; at < columns.length; at += 1) {
    const { name, encode } = present(columns[at], "a column");
    try {
      values[at] = Object.hasOwn(row, name) ? encode(row[name]) : null;
    } catch (error) {
      if (!(error instanceof ValueProblem)) throw error;
      refuseRow(shape, position, `column ${name} ${error.message}`);
    }
    if (values[at] === null && key.includes(name)) {
      refuseRow(shape, position, `key column ${name} is missing`);
    }
  }
  values[columns.length] = flag;
  return values;
}

/** The key of a row as one text. */
export function keyText({ keyIndexes }: TableShape, { values }: PlannedRow): string {
  if (keyIndexes.length === 1) return String(values[keyIndexes[0] ?? 0]);
  return JSON.stringify(keyIndexes.map((at) => textOf(values[at] ?? null)));
}

function textOf(value: SinkValue): string | number | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "bigint" ? value.toString() : value;
}

function refuseRow({ name }: TableShape, position: number, problem: string): never {
  return refuse(`row ${position} of table ${name}: ${problem}`);
}

function refuse(message: string): never {
  throw new TidegateError("TG_SINK_REFUSED", message);
}
