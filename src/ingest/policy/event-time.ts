// Event time: what a value that a function returned as an event time means.
//   T1. An instant needs a zone: text without one would mean another instant on every computer.
//   T2. Any other value is rejected with what is wrong with it, never guessed.

import { INSTANT_MS_MAX, INSTANT_MS_MIN, parseInstant } from "../../core/encoding/rfc3339.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";

export type ReadEventTime =
  | { readonly kind: "instant"; readonly at: EpochMs }
  /** The function left it to the default. */
  | { readonly kind: "default" }
  | { readonly kind: "invalid"; readonly reason: string };

/** Reads RFC 3339 text, whole milliseconds since 1970, or a Date (T2). */
export function readEventTime(value: unknown): ReadEventTime {
  if (value === null || value === undefined) return { kind: "default" };
  if (typeof value === "string") {
    const parsed = parseInstant(value); // T1
    if (parsed.kind === "instant") return { kind: "instant", at: parsed.epochMs };
    return { kind: "invalid", reason: `a text that ${parsed.reason}` };
  }
  const ms = isDate(value) ? value.getTime() : value;
  const isInstant = typeof ms === "number" && Number.isInteger(ms);
  if (isInstant && ms >= INSTANT_MS_MIN && ms <= INSTANT_MS_MAX) {
    return { kind: "instant", at: epochMs(ms) };
  }
  return {
    kind: "invalid",
    reason: "neither RFC 3339 text, whole milliseconds nor a valid Date",
  };
}

/** Also a date of another realm, or of a library that extends it. */
function isDate(value: unknown): value is { getTime(): unknown } {
  const { getTime } = (value ?? {}) as { getTime?: unknown };
  return typeof value === "object" && typeof getTime === "function";
}
