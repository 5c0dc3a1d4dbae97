// Sources: how the rows of a record reach a statement.

import type { SinkValue } from "../../core/sink-write.ts";
import type { Dialect } from "./databases/dialect.ts";
import type { PlannedRow } from "./rows.ts";
import type { TableShape } from "./shape.ts";
import type { RowSource } from "./statements.ts";
import { named } from "./template.ts";

/** All rows in one JSON parameter. */
export function listSource(dialect: Dialect, { columns }: TableShape): RowSource {
  const members = columns.map(
    (column, index) => `${dialect.member(index, column)} AS ${column.quoted}`,
  );
  const deleted = `${dialect.flag(columns.length)} AS _tg_deleted`;
  const elements = dialect.elements(named("rows"));
  return { from: `(SELECT ${[...members, deleted].join(", ")} FROM ${elements}) AS n`, order: "" };
}

export function listBindings(
  dialect: Dialect,
  rows: readonly PlannedRow[],
): Record<string, SinkValue> {
  const lists = rows.map(({ values }) => values.map((value) => dialect.jsonValue(value)));
  return { rows: JSON.stringify(lists) };
}

/** One row, each value in its own parameter: SQLite need not parse JSON. */
export function oneSource({ columns }: TableShape): RowSource {
  const values = columns.map(({ quoted }, index) => `${named(`v${index}`)} AS ${quoted}`);
  const deleted = `${named("deleted")} AS _tg_deleted`;
  return { from: `(SELECT ${[...values, deleted].join(", ")}) AS n`, order: "" };
}

export function oneBindings({ values, deleted }: PlannedRow): Record<string, SinkValue> {
  const bindings: Record<string, SinkValue> = { deleted: deleted ? 1 : 0 };
  for (let index = 0; index < values.length; index += 1) {
    bindings[`v${index}`] = values[index] ?? null;
  }
  return bindings;
}
