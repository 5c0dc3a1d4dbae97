// Mask: hides secrets before they reach a log, a dossier, a dead letter or a report.
//   K1. A path names members from the top, joined by dots: "payload.person.*". `*` matches one name
//       or array index, `**` any number of them (at the end of a path at least one). A dot, an
//       asterisk or a backslash within a name is escaped with a backslash.
//   K2. A matched value is hidden completely: nothing of an object or array remains, neither its
//       names nor their number.
//   K3. Hidden values are also removed from text that quotes them (secrets.ts): all texts and
//       numbers below a path, at any depth. Values with fewer than three characters, true, false
//       and null are too common to search for.
//   K4. Masking never fails. A value nested deeper than JSON_DEPTH_MAX is hidden from there on.

import { refuseConfig } from "../errors.ts";
import { JSON_DEPTH_MAX, type JsonObject, type JsonValue } from "./canonical-json.ts";
import {
  MASKED,
  nameWithoutSecrets,
  SECRET_UNITS_MIN,
  type SecretValues,
  withoutSecrets,
} from "./secrets.ts";

const MASK_PATHS_MAX = 1_000;
const MASK_SEGMENTS_MAX = JSON_DEPTH_MAX;

export interface Mask {
  /** Whether it has no paths and hides nothing. */
  readonly isEmpty: boolean;
  /** A copy with all matched values hidden; unmatched parts may be shared with the original. */
  value(json: JsonValue): JsonValue;
  /** The values that `value` would hide, as text to search for (K3). */
  secretsOf(json: JsonValue): readonly string[];
  /** `message` without any of `secrets`. Never cut a text before. */
  text(message: string, secrets: SecretValues): string;
  /** The name of an object, a record or a group without `secrets` (S3 of secrets.ts). */
  name(name: string, secrets: SecretValues): string;
}

const NONE: readonly string[] = [];

/** Throws TG_CONFIG_INVALID for an invalid path. */
export function createMask(paths: readonly string[]): Mask {
  if (paths.length > MASK_PATHS_MAX) refuseConfig(`more than ${MASK_PATHS_MAX} paths to mask`);
  const start = enter(paths.map(compile));
  return {
    isEmpty: start.size === 0,
    value: (json) => (start.size === 0 ? json : hide(json, start, 0)),
    secretsOf(json) {
      if (start.size === 0) return NONE;
      const secrets = new Set<string>();
      collect(json, start, 0, secrets);
      return [...secrets];
    },
    text: withoutSecrets,
    name: nameWithoutSecrets,
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
  if (typeof path !== "string") refuseConfig(`${subject}: a path must be a string`);
  if (path === "") refuseConfig(`${subject}: the path is empty`);
  const segments = path.split(/(?<=(?<!\\)(?:\\\\)*)\./);
  if (segments.length > MASK_SEGMENTS_MAX) {
    refuseConfig(`${subject}: it has more than ${MASK_SEGMENTS_MAX} segments`);
  }
  let next: Step | null = null;
  for (const segment of segments.toReversed()) {
    if (segment === "") refuseConfig(`${subject}: a name between dots is empty`);
    next = { segment: readSegment(segment, subject), next };
  }
  return next as unknown as Step; // A path has at least one segment.
}

function readSegment(segment: string, subject: string): Step["segment"] {
  if (segment === "*") return ONE;
  if (segment === "**") return ANY;
  if (!/^(?:[^\\*]|\\[\\*.])+$/u.test(segment)) {
    refuseConfig(`${subject}: write an asterisk alone between dots, or escape it with a backslash`);
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
    if (value === null || typeof value === "boolean") continue; // K3
    if (typeof value === "object") {
      for (const member of Object.values(value as JsonObject)) open.push(member);
      continue;
    }
    const text = String(value);
    if (text.length >= SECRET_UNITS_MIN && text !== MASKED) secrets.add(text);
  }
}
