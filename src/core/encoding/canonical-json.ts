// Canonical JSON (RFC 8785): one value, one text, one hash.
//   J1. Equal values give equal bytes, whatever the order in which their members were written.
//   J2. What JSON cannot carry is refused with the place where it sits, never dropped, rounded
//       or replaced: a value that silently changed would be hashed as another.
//   J3. Parsing the text and writing it again gives the same text.
// Nothing is called on the value (no toJSON), so a Date or a Map is a fault of the caller and not
// an empty object.

import { TidegateError } from "../errors.ts";

/** A value that JSON can carry. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** Objects and arrays may be nested this deep, on the way out and on the way in. */
export const JSON_DEPTH_MAX = 128;

/** Where in a value we are: member names and array positions from the top. */
export type JsonTrail = readonly (string | number)[];

interface Walk {
  /** The containers we are inside of, to tell a cycle from mere depth. */
  readonly ancestors: object[];
  readonly trail: (string | number)[];
}

/** The one text of `value`; throws TG_VALUE_INVALID, with the place, for what JSON cannot carry. */
export function canonicalJson(value: unknown): string {
  return write(value, { ancestors: [], trail: [] });
}

const encoder = new TextEncoder();

/** The one text of `value` as UTF-8, ready to be hashed or sent. */
export function canonicalBytes(value: unknown): Uint8Array {
  return encoder.encode(canonicalJson(value));
}

/** A JSON pointer (RFC 6901) for messages to people; the top has no pointer and is called so. */
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
      // ECMAScript's shortest form is what RFC 8785 asks for; -0 has no text of its own.
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
  if (!value.isWellFormed()) throw refusal("holds a lone surrogate", walk);
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
  if (Object.getPrototypeOf(value) !== Array.prototype) throw refusal("is no plain array", walk);
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
    throw refusal("is no plain object", walk);
  }
  // The default order of sort is that of UTF-16 code units, as RFC 8785 wants it (J1).
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
  const place = describeTrail(walk.trail);
  return new TidegateError("TG_VALUE_INVALID", `JSON cannot carry this: ${place} ${what}`);
}
