// Mask: hides what nobody may see before it reaches a log, a dossier, a dead letter or a report.
//   K1. A path names members from the top, joined by dots: "payload.person.*". `*` stands for one
//       name or array position, `**` for any number of them (at the end of a path at least one).
//       A dot, an asterisk or a backslash within a name has a backslash before it.
//   K2. What a path names is hidden whole: of an object or array nothing is left, not even the
//       names within it or how many there were.
//   K3. Text that quotes a hidden value is scrubbed of it, as it stands or escaped for JSON, SQL
//       or a URL. Values of fewer than three characters, and null, are too common to be sought.
//   K4. Hiding never fails. A value nested deeper than JSON_DEPTH_MAX is hidden from there on.

import { TidegateError } from "../errors.ts";
import { JSON_DEPTH_MAX, type JsonObject, type JsonValue } from "./canonical-json.ts";

/** Stands where something was hidden. */
export const MASKED = "***";

/** Shorter values are not looked for in text (K3). */
const SECRET_UNITS_MIN = 3;
const MASK_PATHS_MAX = 1_000;
const MASK_SEGMENTS_MAX = JSON_DEPTH_MAX;

export interface Mask {
  /** A copy in which all that the paths name is hidden; what they leave alone may be shared. */
  value(json: JsonValue): JsonValue;
  /** The values that `value` would hide, as text to be looked for (K3). */
  secretsOf(json: JsonValue): string[];
  /** `message` without any of `secrets`. */
  text(message: string, secrets: readonly string[]): string;
}

/** Throws TG_CONFIG_INVALID for a path that means nothing. */
export function createMask(paths: readonly string[]): Mask {
  if (paths.length > MASK_PATHS_MAX) refuse(`there are more than ${MASK_PATHS_MAX} paths to mask`);
  const start = enter(paths.map(compile));
  return {
    value: (json) => (start.size === 0 ? json : hide(json, start, 0)),
    secretsOf(json) {
      const found = new Set<string>();
      if (start.size > 0) collect(json, start, 0, found);
      return [...found];
    },
    text: scrub,
  };
}

/** One segment of a path and what comes after it; null is the end, where a value is hidden. */
interface Step {
  readonly segment: string | typeof ONE | typeof ANY;
  readonly next: Step | null;
}

const ONE = Symbol("*");
const ANY = Symbol("**");

function compile(path: string): Step {
  const told = `cannot mask ${JSON.stringify(path) ?? String(path)}`;
  if (typeof path !== "string") refuse(`${told}: a path is text`);
  if (path === "") refuse(`${told}: the path is empty`);
  const segments = path.split(/(?<=(?<!\\)(?:\\\\)*)\./);
  if (segments.length > MASK_SEGMENTS_MAX) {
    refuse(`${told}: it has more than ${MASK_SEGMENTS_MAX} segments`);
  }
  let next: Step | null = null;
  for (const segment of segments.toReversed()) {
    if (segment === "") refuse(`${told}: a name between its dots is empty`);
    next = { segment: readSegment(segment, told), next };
  }
  return next as unknown as Step; // There is at least one segment.
}

function readSegment(segment: string, told: string): Step["segment"] {
  if (segment === "*") return ONE;
  if (segment === "**") return ANY;
  if (!/^(?:[^\\*]|\\[\\*.])+$/u.test(segment)) {
    refuse(`${told}: an asterisk stands alone between dots, or has a backslash before it`);
  }
  return segment.replace(/\\([\\*.])/g, "$1");
}

type Steps = ReadonlySet<Step>;

const NOWHERE: Steps = new Set();

/** The steps, and those behind a `**` that stands for nothing. */
function enter(steps: Iterable<Step>): Steps {
  const all = new Set<Step>();
  for (const step of steps) {
    let at: Step | null = step;
    while (at !== null && !all.has(at)) {
      all.add(at);
      at = at.segment === ANY ? at.next : null;
    }
  }
  return all;
}

/** Where the steps lead by a member of that name; null where it is to be hidden. */
function follow(steps: Steps, name: string): Steps | null {
  const onward: Step[] = [];
  for (const step of steps) {
    const { segment, next } = step;
    if (segment !== ANY && segment !== ONE && segment !== name) continue;
    if (next === null) return null;
    onward.push(segment === ANY ? step : next);
  }
  return onward.length === 0 ? NOWHERE : enter(onward);
}

function hide(json: JsonValue, steps: Steps, depth: number): JsonValue {
  if (steps.size === 0 || json === null || typeof json !== "object") return json;
  if (depth >= JSON_DEPTH_MAX) return MASKED; // K4
  const hideMember = (name: string, value: JsonValue) => {
    const onward = follow(steps, name);
    return onward === null ? MASKED : hide(value, onward, depth + 1); // K2
  };
  if (Array.isArray(json)) {
    return json.map((item: JsonValue, at) => hideMember(String(at), item));
  }
  // Not by assignment, which would take a member called __proto__ for something else.
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([name, value]) => [name, hideMember(name, value)]),
  );
}

function collect(json: JsonValue, steps: Steps, depth: number, found: Set<string>): void {
  if (steps.size === 0 || json === null || typeof json !== "object") return;
  if (depth >= JSON_DEPTH_MAX) {
    collectAll(json, found); // K4
    return;
  }
  for (const [name, value] of Object.entries(json as JsonObject)) {
    const onward = follow(steps, name);
    if (onward === null) collectAll(value, found);
    else collect(value, onward, depth + 1, found);
  }
}

/** All leaves below, without recursion, since what is hidden may be nested as deep as it likes. */
function collectAll(json: JsonValue, found: Set<string>): void {
  const open: JsonValue[] = [json];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (value === null) continue;
    if (typeof value === "object") {
      for (const member of Object.values(value as JsonObject)) open.push(member);
      continue;
    }
    const text = String(value);
    if (text.length >= SECRET_UNITS_MIN && text !== MASKED) found.add(text);
  }
}

/** Hides every stretch that any secret covers; what overlaps becomes one stretch. */
function scrub(message: string, secrets: readonly string[]): string {
  const stretches: [start: number, end: number][] = [];
  for (const secret of secrets) {
    if (secret.length < SECRET_UNITS_MIN) continue;
    for (const spelling of spellingsOf(secret)) {
      for (let at = message.indexOf(spelling); at >= 0; at = message.indexOf(spelling, at + 1)) {
        stretches.push([at, at + spelling.length]);
      }
    }
  }
  if (stretches.length === 0) return message;
  stretches.sort(([left], [right]) => left - right);
  let text = "";
  let end = 0;
  for (const [from, to] of stretches) {
    if (from >= end) text += message.slice(end, from) + MASKED;
    end = Math.max(end, to);
  }
  return text + message.slice(end);
}

/** As it stands, within JSON, quotes, SQL, and a URL or a form (K3). */
function spellingsOf(secret: string): Set<string> {
  const escaped = encodeURIComponent(secret.toWellFormed());
  return new Set([
    secret,
    JSON.stringify(secret).slice(1, -1),
    secret.replaceAll("'", "\\'"),
    secret.replaceAll("'", "''"),
    escaped,
    escaped.replaceAll("%20", "+"),
  ]);
}

function refuse(message: string): never {
  throw new TidegateError("TG_CONFIG_INVALID", message);
}
