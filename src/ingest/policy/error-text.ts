// Error text: what is written down about a thrown value, and by what it is counted together with
// others of the same cause.
//   W1. Texts are bounded, well-formed and without NUL, so that every store can keep them.
//   W2. A fingerprint holds nothing that differs from one record to the next: no numbers, ids,
//       quoted texts or paths, no line numbers, no folder that a host chose. It does hold the
//       place in the user's code, as one message may come from several.
//   W3. Nothing here throws (F1 of error-facts.ts).

import { sha256Hex } from "../../core/encoding/hash.ts";
import { clampText } from "../../core/encoding/text.ts";
import { FAILURE_MESSAGE_CHARS_MAX } from "../../core/limits.ts";
import { chainOf, textOf } from "./error-facts.ts";

export const STACK_CHARS_MAX = 8_192;
export const FINGERPRINT_CHARS = 16;
/** Errors of the chain that messages and stacks tell of. */
const TOLD_MAX = 3;
const NORMAL_FORM_UNITS_MAX = 512;
/** Frames looked at in search of the user's code. */
const FRAMES_MAX = 50;

/** What went wrong in one line or a few, causes included (W1). */
export function messageOf(error: unknown): string {
  const told = chainOf(error).slice(0, TOLD_MAX).map(lineOf);
  const fresh = told.filter((line, at) => !told.slice(0, at).some((one) => one.includes(line)));
  return storable(fresh.join("; caused by "), FAILURE_MESSAGE_CHARS_MAX);
}

/** The stacks of the error and its causes; null if there is none (W1). */
export function stackOf(error: unknown): string | null {
  const stacks = chainOf(error)
    .slice(0, TOLD_MAX)
    .map((each) => textOf(each, "stack"))
    .filter((stack) => stack !== null)
    .map((stack) => clampText(stack, STACK_CHARS_MAX));
  return stacks.length === 0 ? null : storable(stacks.join("\ncaused by "), STACK_CHARS_MAX);
}

/** A short hex digest, the same for errors with the same cause (W2). */
export function fingerprintOf(error: unknown, errorClass: string): string {
  const parts = [errorClass, nameOf(error) ?? "", normalForm(messageOf(error)), placeOf(error)];
  return sha256Hex(JSON.stringify(parts)).slice(0, FINGERPRINT_CHARS);
}

function lineOf(error: unknown): string {
  if (typeof error === "string") return clampText(error, FAILURE_MESSAGE_CHARS_MAX) || "(empty)";
  const name = nameOf(error);
  const message = textOf(error, "message");
  if (message === null) return name ?? bare(error);
  const short = clampText(message, FAILURE_MESSAGE_CHARS_MAX);
  return name === null || name === "Error" ? short : `${name}: ${short}`;
}

/** The code where there is one, as it says more than the class it came with. */
function nameOf(error: unknown): string | null {
  const name = textOf(error, "code") ?? textOf(error, "name");
  return name === null ? null : clampText(name, NORMAL_FORM_UNITS_MAX);
}

/** For what is no error at all. What an object holds is not told: it may be anybody's data. */
function bare(value: unknown): string {
  if (typeof value === "object" && value !== null) return "an object that is no error was thrown";
  if (typeof value === "function") return "a function was thrown";
  return `${String(value)} was thrown`;
}

function storable(text: string, unitsMax: number): string {
  return clampText(text, unitsMax).replaceAll("\0", "\ufffd").toWellFormed();
}

/** Each replaces what the former left; a quote that a cut left open counts up to the end. */
const TAKEN_OUT: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*(?:"|$)|`[^`]*(?:`|$)|(?<!\w)'[^']*(?:'|$)/g, "<text>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<uuid>"],
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s,;)\]]+/gi, "<path>"],
  [/(?<![\w<])(?:[a-z]:)?(?:\.{0,2}[\\/])?(?:[\w.@%+=~-]+[\\/])+[\w.@%+=~-]*/gi, "<path>"],
  [/(?<![\w<])[\\/][\w.@%+=~-]+/g, "<path>"],
  [/\b0x[0-9a-f]+\b/gi, "<hex>"],
  [/\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b/gi, "<hex>"],
  [/\d+(?:[.,:]\d+)*/g, "<n>"],
];

/** A message without what differs from one record to the next (W2). */
export function normalForm(message: string): string {
  let text = message;
  for (const [pattern, instead] of TAKEN_OUT) text = text.replace(pattern, instead);
  return clampText(text.replace(/\s+/g, " ").trim(), NORMAL_FORM_UNITS_MAX);
}

/** "at call (file:line:column)" or "at file:line:column", without line and column. */
const FRAME = /^\s*at (?:async |new )?(.+):\d+:\d+\)?$/;
const NOT_THE_USERS = /^node:|[\\/]node_modules[\\/]/;

/** Function and file of the topmost frame that is neither Node's nor a package's. */
function placeOf(error: unknown): string {
  const stack = clampText(textOf(error, "stack") ?? "", STACK_CHARS_MAX);
  const frames = stack.split("\n").flatMap((line) => FRAME.exec(line.trimEnd())?.[1] ?? []);
  for (const frame of frames.slice(0, FRAMES_MAX)) {
    const opening = frame.lastIndexOf(" (");
    const file = opening < 0 ? frame : frame.slice(opening + 2);
    if (NOT_THE_USERS.test(file)) continue;
    const call = opening < 0 ? "" : frame.slice(0, opening);
    return `${call} ${file.replace(/\?.*$/, "").split(/[\\/]/).at(-1)}`;
  }
  return "";
}
