// Mask: hides secrets before they reach a log, a dossier, a dead letter or a report.
//   K1. A path names members from the top, joined by dots: "payload.person.*". `*` matches one name
//       or array index, `**` any number of them (at the end of a path at least one). A dot, an
//       asterisk or a backslash within a name is escaped with a backslash.
//   K2. A matched value is hidden completely: nothing of an object or array remains, neither its
//       names nor their number.
//   K3. Hidden values are also removed from text that quotes them, literally or escaped for JSON,
//       SQL or a URL. Values with fewer than three characters, and null, are too common to search
//       for.
//   K4. Masking never fails. A value nested deeper than JSON_DEPTH_MAX is hidden from there on.

import { TidegateError } from "../errors.ts";
import { JSON_DEPTH_MAX, type JsonObject, type JsonValue } from "./canonical-json.ts";

/** Replaces a hidden value. */
export const MASKED = "***";

/** Shorter values are not searched for in text (K3). */
const SECRET_UNITS_MIN = 3;
const MASK_PATHS_MAX = 1_000;
const MASK_SEGMENTS_MAX = JSON_DEPTH_MAX;

export interface Mask {
  /** A copy with all matched values hidden; unmatched parts may be shared with the original. */
  value(json: JsonValue): JsonValue;
  /** The values that `value` would hide, as text to search for (K3). */
  secretsOf(json: JsonValue): string[];
  /** `message` without any of `secrets`. */
  text(message: string, secrets: readonly string[]): string;
}

/** Throws TG_CONFIG_INVALID for an invalid path. */
export function createMask(paths: readonly string[]): Mask {
  if (paths.length > MASK_PATHS_MAX) refuse(`more than ${MASK_PATHS_MAX} paths to mask`);
  const start = enter(paths.map(compile));
  return {
    value: (json) => (start.size === 0 ? json : hide(json, start, 0)),
    secretsOf(json) {
      const secrets = new Set<string>();
      if (start.size > 0) collect(json, start, 0, secrets);
      return [...secrets];
    },
    text: scrub,
  };
}

/** One segment of a path and the next one; null is the end, where a value is hidden. */
interface Step {
  readonly segment: string | typeof ONE | typeof ANY;
  readonly next: Step | null;
}

const ONE = Symbol("*");
const ANY = Symbol("**");

function compile(path: string): Step {
  const subject = `cannot mask ${JSON.stringify(path) ?? String(path)}`;
  if (typeof path !== "string") refuse(`${subject}: a path must be a string`);
  if (path === "") refuse(`${subject}: the path is empty`);
  const segments = path.split(/(?<=(?<!\\)(?:\\\\)*)\./);
  if (segments.length > MASK_SEGMENTS_MAX) {
    refuse(`${subject}: it has more than ${MASK_SEGMENTS_MAX} segments`);
  }
  let next: Step | null = null;
  for (const segment of segments.toReversed()) {
    if (segment === "") refuse(`${subject}: a name between dots is empty`);
    next = { segment: readSegment(segment, subject), next };
  }
  return next as unknown as Step; // A path has at least one segment.
}

function readSegment(segment: string, subject: string): Step["segment"] {
  if (segment === "*") return ONE;
  if (segment === "**") return ANY;
  if (!/^(?:[^\\*]|\\[\\*.])+$/u.test(segment)) {
    refuse(`${subject}: write an asterisk alone between dots, or escape it with a backslash`);
  }
  return segment.replace(/\\([\\*.])/g, "$1");
}

type Steps = ReadonlySet<Step>;

const NOWHERE: Steps = new Set();

/** The steps, and those behind a `**` that matches nothing. */
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

/** The steps that follow a member with that name; null if the member is to be hidden. */
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
  // Not by assignment, which would treat a member named __proto__ differently.
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([name, value]) => [name, hideMember(name, value)]),
  );
}

function collect(json: JsonValue, steps: Steps, depth: number, secrets: Set<string>): void {
  if (steps.size === 0 || json === null || typeof json !== "object") return;
  if (depth >= JSON_DEPTH_MAX) {
    collectAll(json, secrets); // K4
    return;
  }
  for (const [name, value] of Object.entries(json as JsonObject)) {
    const onward = follow(steps, name);
    if (onward === null) collectAll(value, secrets);
    else collect(value, onward, depth + 1, secrets);
  }
}

/** All leaves below, without recursion, since hidden values may be nested arbitrarily deep. */
function collectAll(json: JsonValue, secrets: Set<string>): void {
  const open: JsonValue[] = [json];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (value === null) continue;
    if (typeof value === "object") {
      for (const member of Object.values(value as JsonObject)) open.push(member);
      continue;
    }
    const text = String(value);
    if (text.length >= SECRET_UNITS_MIN && text !== MASKED) secrets.add(text);
  }
}

/** Hides every range that any secret covers; overlapping ranges become one. */
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

/** Literal, and escaped for JSON, quotes, SQL, and a URL or a form (K3). */
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
