// Read order: the JSON body of an action, checked field by field. An unknown field is refused, so
// that a misspelt filter does not select everything.

import type { HttpRequest } from "../../operate/cloud/embedded-cloud.ts";
import { refuseRequest } from "./console-reply.ts";

type Check<T> = (value: unknown, name: string) => T;
type Checks = Readonly<Record<string, Check<unknown>>>;
type Order<C extends Checks> = {
  readonly [K in keyof C]?: C[K] extends Check<infer T> ? T : never;
};

const TEXT_CHARS_MAX = 1_048_576;
const SHOWN_CHARS_MAX = 40;

function wrong(name: string, value: unknown, expected: string): never {
  const shown = JSON.stringify(value)?.slice(0, SHOWN_CHARS_MAX) ?? "nothing";
  return refuseRequest(400, "InvalidField", `${shown} is not valid for ${name}; send ${expected}`);
}

export const aText: Check<string> = (value, name) => {
  if (typeof value === "string" && value.length <= TEXT_CHARS_MAX) return value;
  return wrong(name, value, "a text");
};

export const aFlag: Check<boolean> = (value, name) =>
  typeof value === "boolean" ? value : wrong(name, value, "true or false");

export function aNumber(min: number, max: number): Check<number> {
  return (value, name) => {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    return wrong(name, value, `a whole number from ${min} to ${max}`);
  };
}

/** An object with any names and texts as values. */
export const texts: Check<Readonly<Record<string, string>>> = (value, name) => {
  const entries = Object.entries(objectOf(value, name));
  return Object.fromEntries(entries.map(([key, text]) => [key, aText(text, `${name}.${key}`)]));
};

export function anObject<C extends Checks>(checks: C): Check<Order<C>> {
  return (value, name) => {
    const entries = Object.entries(objectOf(value, name)).map(([key, given]) => {
      const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
      const path = name === "" ? key : `${name}.${key}`;
      if (check !== undefined) return [key, check(given, path)];
      const allowed = Object.keys(checks).join(", ");
      return refuseRequest(400, "UnknownField", `unknown field "${path}"; send only ${allowed}`);
    });
    return Object.fromEntries(entries) as Order<C>;
  };
}

function objectOf(value: unknown, name: string): object {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value : wrong(name === "" ? "the body" : name, value, "a JSON object");
}

export function readOrder<C extends Checks>(request: HttpRequest, checks: C): Order<C> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(request.body));
  } catch {
    return refuseRequest(400, "InvalidJson", "the body is not JSON; send a JSON object");
  }
  return anObject(checks)(value, "");
}

/** A field that the order must have. */
export function required<T>(value: T | undefined, name: string): T {
  if (value !== undefined) return value;
  return refuseRequest(400, "MissingField", `the field "${name}" is missing; send it`);
}
