// Error text: the stored message, stack and fingerprint of a thrown value. The fingerprint groups
// errors with the same cause.
//   W1. Texts are bounded, well-formed and without NUL, so that every store accepts them.
//   W2. A fingerprint contains nothing that differs between records: no numbers, ids, quoted texts
//       or paths, no line numbers, no folder of a host. It contains the position in the user's
//       code, because several positions may throw the same message.
//   W3. Nothing here throws (F1 of error-facts.ts).
//   W4. `shown` removes masked values, and a text is cut only after that: half of a value is not
//       found. A text that is part of a later error is not cut at all (wholeMessageOf).

import { sha256Hex } from "../../core/encoding/hash.ts";
import { clampText } from "../../core/encoding/text.ts";
import { FAILURE_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { chainOf, textOf } from "./error-facts.ts";

export const STACK_CHARS_MAX = 8_192;
export const FINGERPRINT_CHARS = 16;
/** Errors of the chain that messages and stacks include. */
const ERRORS_INCLUDED_MAX = 3;
const NORMAL_FORM_UNITS_MAX = 512;
/** Stack frames searched for the user's code. */
const FRAMES_MAX = 50;

type Shown = (text: string) => string;
const AS_IS: Shown = (text) => text;

/** One message with those of the causes (W1, W4). */
export function messageOf(error: unknown, shown: Shown = AS_IS): string {
  const lines = chainOf(error)
    .slice(0, ERRORS_INCLUDED_MAX)
    .map((each) => lineOf(each, shown, FAILURE_MESSAGE_CHARS_MAX));
  return storable(joined(lines), FAILURE_MESSAGE_CHARS_MAX);
}

/** The same message for the text of another error, which is masked later (W4). */
export function wholeMessageOf(error: unknown): string {
  const chain = chainOf(error).slice(0, ERRORS_INCLUDED_MAX);
  return joined(chain.map((each) => lineOf(each, AS_IS, Number.POSITIVE_INFINITY)));
}

function joined(lines: readonly string[]): string {
  const unique = lines.filter((line, at) => !lines.slice(0, at).some((one) => one.includes(line)));
  return unique.join("; caused by ");
}

/** The stacks of the error and its causes; null if there is none (W1, W4). */
export function stackOf(error: unknown, shown: Shown = AS_IS): string | null {
  const stacks = chainOf(error)
    .slice(0, ERRORS_INCLUDED_MAX)
    .map((each) => textOf(each, "stack"))
    .filter((stack) => stack !== null)
    .map((stack) => clampText(shown(stack), STACK_CHARS_MAX));
  return stacks.length === 0 ? null : storable(stacks.join("\ncaused by "), STACK_CHARS_MAX);
}

/** A short hex digest that errors with the same cause share (W2). */
export function fingerprintOf(error: unknown, errorClass: string, shown: Shown = AS_IS): string {
  const message = normalForm(messageOf(error, shown));
  const parts = [errorClass, nameOf(error, shown) ?? "", message, positionOf(error)];
  return sha256Hex(JSON.stringify(parts)).slice(0, FINGERPRINT_CHARS);
}

function lineOf(error: unknown, shown: Shown, unitsMax: number): string {
  if (typeof error === "string") return clampText(shown(error), unitsMax) || "(empty)";
  const name = nameOf(error, shown);
  const message = textOf(error, "message");
  if (message === null) return name ?? shown(describeValue(error));
  const short = clampText(shown(message), unitsMax);
  return name === null || name === "Error" ? short : `${name}: ${short}`;
}

/** The code if there is one, because it is more specific than the name. */
function nameOf(error: unknown, shown: Shown): string | null {
  const name = textOf(error, "code") ?? textOf(error, "name");
  return name === null ? null : clampText(shown(name), NORMAL_FORM_UNITS_MAX);
}

/** Describes a thrown value that is not an error. It hides an object's fields (personal data). */
function describeValue(value: unknown): string {
  if (typeof value === "object" && value !== null)
    return "an object that is not an error was thrown";
  if (typeof value === "function") return "a function was thrown";
  return `${String(value)} was thrown`;
}

function storable(text: string, unitsMax: number): string {
  return clampText(text, unitsMax).replaceAll("\0", "\ufffd").toWellFormed();
}

/** Applied in order. A quote without its end, because the text was cut, runs to the end. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*(?:"|$)|`[^`]*(?:`|$)|(?<!\w)'[^']*(?:'|$)/g, "<text>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s,;)\]]+/gi, "<path>"],
  [/(?<![\w<])(?:[a-z]:)?(?:\.{0,2}[\\/])?(?:[\w.@%+=~-]+[\\/])+[\w.@%+=~-]*/gi, "<path>"],
  [/(?<![\w<])[\\/][\w.@%+=~-]+/g, "<path>"],
  [/\b0x[0-9a-f]+\b/gi, "<hex>"],
  [/\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b/gi, "<hex>"],
  [/\d+(?:[.,:]\d+)*/g, "<n>"],
];

/** The message with placeholders for everything that differs between records (W2). */
export function normalForm(message: string): string {
  let text = message;
  for (const [pattern, placeholder] of REPLACEMENTS) text = text.replace(pattern, placeholder);
  return clampText(text.replace(/\s+/g, " ").trim(), NORMAL_FORM_UNITS_MAX);
}

/** "at call (file:line:column)" or "at file:line:column", without line and column. */
const FRAME = /^\s*at (?:async |new )?(.+):\d+:\d+\)?$/;
const FOREIGN_FILE = /^node:|[\\/]node_modules[\\/]/;

/** Function and file of the topmost frame outside Node and packages. */
function positionOf(error: unknown): string {
  const stack = clampText(textOf(error, "stack") ?? "", STACK_CHARS_MAX);
  const frames = stack.split("\n").flatMap((line) => FRAME.exec(line.trimEnd())?.[1] ?? []);
  for (const frame of frames.slice(0, FRAMES_MAX)) {
    const opening = frame.lastIndexOf(" (");
    const file = opening < 0 ? frame : frame.slice(opening + 2);
    if (FOREIGN_FILE.test(file)) continue;
    const call = opening < 0 ? "" : frame.slice(0, opening);
    return `${call} ${file.replace(/\?.*$/, "").split(/[\\/]/).at(-1)}`;
  }
  return "";
}
