// Canonical JSON (RFC 8785): one value, one text, one hash.
//   J1. Equal values give equal bytes, whatever the order of their members.
//   J2. A value that JSON cannot represent is rejected with its position, never dropped, rounded or
//       replaced: a silently changed value would have another hash.
//   J3. Parsing the text and writing it again gives the same text.
// No method of the value is called (no toJSON), so a Date or a Map is the caller's mistake and not
// an empty object.

import { TidegateError } from "../errors.ts";

/** A value that JSON can represent. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
/** A JSON object, as payloads of events are. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** The deepest nesting of objects and arrays, when writing and when reading. */
export const JSON_DEPTH_MAX = 128;

/** A position within a value: member names and array indexes from the top. */
export type JsonTrail = readonly (string | number)[];

interface Walk {
  /** The enclosing containers, to distinguish a cycle from mere depth. */
  readonly ancestors: object[];
  readonly trail: (string | number)[];
}

/**
 * The canonical text of `value`; throws TG_VALUE_INVALID, with the position, if JSON cannot
 * represent it.
 */
export function canonicalJson(value: unknown): string {
  return write(value, { ancestors: [], trail: [] });
}

/** A JSON pointer (RFC 6901) for messages to people; "the top" for the value itself. */
export function describeTrail(trail: JsonTrail): string {
  if (trail.length === 0) return "the top";
  return trail.map((step) => `/${String(step).replace(/~/g, "~0").replace(/\//g, "~1")}`).join("");
}

function write(value: unknown, walk: Walk): string {
  switch (typeof value) {
    case "string":
      return writeString(value, walk);
    case "number":
      if (!Number.isFinite(value)) throw refusal(`is ${value}`, walk);
      // RFC 8785 requires ECMAScript's shortest form; -0 is written as 0.
      return String(value === 0 ? 0 : value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : writeContainer(value, walk);
    case "undefined":
      throw refusal("is undefined", walk);
    default:
      throw refusal(`is a ${typeof value}`, walk); // J2: bigint, function, symbol.
  }
}

function writeString(value: string, walk: Walk): string {
  if (!value.isWellFormed()) throw refusal("contains a lone surrogate", walk);
  return JSON.stringify(value);
}

function writeContainer(value: object, walk: Walk): string {
  if (walk.ancestors.includes(value)) throw refusal("contains itself", walk);
  if (walk.ancestors.length >= JSON_DEPTH_MAX) {
    throw refusal(`is nested deeper than ${JSON_DEPTH_MAX}`, walk);
  }
  walk.ancestors.push(value);
  const text = Array.isArray(value) ? writeArray(value, walk) : writeObject(value, walk);
  walk.ancestors.pop();
  return text;
}

function writeArray(value: readonly unknown[], walk: Walk): string {
  if (Object.getPrototypeOf(value) !== Array.prototype) throw refusal("is not a plain array", walk);
  const items: string[] = [];
  for (let index = 0; index < value.length; index++) {
    walk.trail.push(index);
    if (!Object.hasOwn(value, index)) throw refusal("is a hole in an array", walk);
    items.push(write(value[index], walk));
    walk.trail.pop();
  }
  if (Reflect.ownKeys(value).length !== value.length + 1) {
    throw refusal("is an array with named members", walk); // J2: they would be dropped.
  }
  return `[${items.join(",")}]`;
}

function writeObject(value: object, walk: Walk): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refusal("is not a plain object", walk);
  }
  // Sort's default order is by UTF-16 code units, as RFC 8785 requires (J1).
  const names = Object.keys(value).sort();
  if (Reflect.ownKeys(value).length !== names.length) {
    throw refusal("has symbol or hidden members", walk); // J2
  }
  const members: string[] = [];
  for (const name of names) {
    walk.trail.push(name);
    const text = write((value as Record<string, unknown>)[name], walk);
    members.push(`${writeString(name, walk)}:${text}`);
    walk.trail.pop();
  }
  return `{${members.join(",")}}`;
}

function refusal(what: string, walk: Walk): TidegateError {
  const pointer = describeTrail(walk.trail);
  return new TidegateError(
    "TG_VALUE_INVALID",
    `JSON cannot represent this value: ${pointer} ${what}`,
  );
}
