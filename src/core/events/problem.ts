// Problems: what is wrong with an external value, field by field.
//   B1. All problems are reported, not only the first, so that a producer can be fixed at once.
//   B2. A path is a JSON pointer into the checked value; "" is the value itself.

import type { JsonObject, JsonValue } from "../encoding/canonical-json.ts";
import { clampText } from "../encoding/text.ts";

export interface Problem {
  readonly path: string;
  /** Follows the path: "is missing", "is not a UUID". */
  readonly reason: string;
}

export type Checked<T> =
  | { readonly kind: "valid"; readonly value: T }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

export function invalidAt(path: string, reason: string): Checked<never> {
  return { kind: "invalid", problems: [{ path, reason }] };
}

const DESCRIPTION_UNITS_MAX = 1_000;

/** All problems as one line for a log or an error; bounded, as paths are external input. */
export function describeProblems(problems: readonly Problem[]): string {
  const parts = problems.map(({ path, reason }) => `${path === "" ? "it" : path} ${reason}`);
  return clampText(parts.join("; "), DESCRIPTION_UNITS_MAX);
}

/** `value` if it is a JSON object, and not null or an array. */
export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  return value as JsonObject;
}

/** The own member with that name; a JSON text may contain one named "constructor". */
export function memberOf(object: JsonObject | undefined, name: string): JsonValue | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The member at the end of a chain of objects, or undefined where the chain breaks. */
export function memberAt(
  object: JsonObject | undefined,
  ...names: string[]
): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of names) value = memberOf(asObject(value), name);
  return value;
}
