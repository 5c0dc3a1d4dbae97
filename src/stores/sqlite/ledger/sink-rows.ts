// Sink rows: what a query of a sink returns.

import type { StatementSync } from "node:sqlite";
import type { SinkValue } from "../../../core/sink-write.ts";

/**
 * The rows of a query. The driver's own objects take twice as long to build, and an audit reads a
 * row for every object.
 */
export function readSinkRows(
  statement: StatementSync,
  params: readonly SinkValue[],
): Record<string, SinkValue>[] {
  const names = statement.columns().map(({ name }) => name);
  statement.setReturnArrays(true);
  const rows = statement.all(...params) as unknown as SinkValue[][];
  return rows.map((values) => {
    const row: Record<string, SinkValue> = {};
    let at = 0;
    for (const name of names) {
      row[name] = values[at] ?? null;
      at += 1;
    }
    return row;
  });
}
