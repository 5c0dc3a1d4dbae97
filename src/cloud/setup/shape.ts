// Shape: says of a JSON value, field by field, where it is not what it should be.
//   S1. Every problem is told, each with the JSON pointer of its place.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { asObject, type Problem } from "../../core/events/problem.ts";

export type ReportProblem = (path: string, reason: string) => void;
export type SetupShape = (value: JsonValue, path: string, tell: ReportProblem) => void;

interface Field {
  readonly shape: SetupShape;
  readonly required: boolean;
}

/** Collects problems (S1). */
export function createProblemReporter(): {
  readonly problems: Problem[];
  readonly tell: ReportProblem;
} {
  const problems: Problem[] = [];
  return { problems, tell: (path, reason) => problems.push({ path, reason }) };
}

export function requiredField(shape: SetupShape): Field {
  return { shape, required: true };
}

export function optionalField(shape: SetupShape): Field {
  return { shape, required: false };
}

export const textField: SetupShape = (value, path, tell) => {
  if (typeof value !== "string" || value === "") tell(path, "is no text, or an empty one");
};

export const booleanField: SetupShape = (value, path, tell) => {
  if (typeof value !== "boolean") tell(path, "is neither true nor false");
};

export const anyObject: SetupShape = (value, path, tell) => {
  if (asObject(value) === undefined) tell(path, "is no object");
};

export function oneOfField(...choices: readonly string[]): SetupShape {
  return (value, path, tell) => {
    if (typeof value !== "string" || !choices.includes(value)) {
      tell(path, `is not one of ${choices.join(", ")}`);
    }
  };
}

export function integerField(min: number, max: number): SetupShape {
  return (value, path, tell) => {
    const whole = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
    if (!whole) tell(path, `is no whole number from ${min} to ${max}`);
  };
}

export function listOf(shape: SetupShape, { min, max }: { min: number; max: number }): SetupShape {
  return (value, path, tell) => {
    if (!Array.isArray(value)) {
      tell(path, "is no list");
      return;
    }
    if (value.length < min) tell(path, `has fewer than ${min} entries`);
    if (value.length > max) tell(path, `has more than ${max} entries`);
    else for (const [index, each] of value.entries()) shape(each, `${path}/${index}`, tell);
  };
}

/** An object whose names are free. */
export function recordOf(shape: SetupShape): SetupShape {
  return (value, path, tell) => {
    const object = asObject(value);
    if (object === undefined) tell(path, "is no object");
    for (const [name, each] of Object.entries(object ?? {})) {
      shape(each as JsonValue, `${path}/${pointer(name)}`, tell);
    }
  };
}

export function structureField(fields: Readonly<Record<string, Field>>): SetupShape {
  return (value, path, tell) => {
    const object: JsonObject | undefined = asObject(value);
    if (object === undefined) {
      tell(path, "is no object");
      return;
    }
    for (const name of Object.keys(object)) {
      if (Object.hasOwn(fields, name)) continue;
      const known = Object.keys(fields).join(", ");
      tell(`${path}/${pointer(name)}`, `is no field that is known here (${known} are)`);
    }
    for (const [name, field] of Object.entries(fields)) {
      const member = Object.hasOwn(object, name) ? object[name] : undefined;
      if (member !== undefined) field.shape(member as JsonValue, `${path}/${name}`, tell);
      else if (field.required) tell(`${path}/${name}`, "is missing");
    }
  };
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
