// Row values: which values a column accepts. Databases disagree about the rest (SQLite stores text
// in a number column, PostgreSQL rejects NUL in text), so the sink rejects it first.

import { unreachable } from "../../core/assert.ts";
import type { ColumnType } from "../../core/table-spec.ts";
import type { ColumnValue } from "../../ports/sink.ts";

/** Why a column of that type rejects a value, or null if it accepts it. */
export function valueProblem(type: ColumnType, value: unknown): string | null {
  if (value === null) return null;
  switch (type) {
    case "text":
      return textProblem(value);
    case "integer":
      if (typeof value !== "number") return `is ${nameOf(value)}, not an integer`;
      return Number.isSafeInteger(value) ? null : `is ${value}, not a safe integer`;
    case "real":
      if (typeof value !== "number") return `is ${nameOf(value)}, not a number`;
      return Number.isFinite(value) ? null : `is ${value}, not a finite number`;
    case "boolean":
      return typeof value === "boolean" ? null : `is ${nameOf(value)}, not a boolean`;
    default:
      return unreachable(type);
  }
}

function textProblem(value: unknown): string | null {
  if (typeof value !== "string") return `is ${nameOf(value)}, not a text`;
  if (value.includes("\0")) return "contains a NUL character";
  return value.isWellFormed() ? null : "is not well-formed Unicode";
}

function nameOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "object") return "an object";
  return `a ${typeof value}`;
}

/** A value as JSON represents it; -0 becomes 0, as both are one key to every database. */
export function databaseValue(value: ColumnValue): ColumnValue {
  return value === 0 ? 0 : value;
}
