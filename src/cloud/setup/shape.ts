// Shape: validates a JSON value field by field.
//   S1. Every problem is reported with its JSON pointer.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { asObject, type Problem } from "../../core/events/problem.ts";

export type ReportProblem = (path: string, reason: string) => void;
export type SetupShape = (value: JsonValue, path: string, report: ReportProblem) => void;

interface Field {
  readonly shape: SetupShape;
  readonly required: boolean;
}

/** Collects problems (S1). */
export function createProblemReporter(): {
  readonly problems: Problem[];
  readonly report: ReportProblem;
} {
  const problems: Problem[] = [];
  return { problems, report: (path, reason) => problems.push({ path, reason }) };
}

export function requiredField(shape: SetupShape): Field {
  return { shape, required: true };
}

export function optionalField(shape: SetupShape): Field {
  return { shape, required: false };
}

export const textField: SetupShape = (value, path, report) => {
  if (typeof value !== "string" || value === "") report(path, "must be a non-empty string");
};

export const booleanField: SetupShape = (value, path, report) => {
  if (typeof value !== "boolean") report(path, "must be true or false");
};

export const anyObject: SetupShape = (value, path, report) => {
  if (asObject(value) === undefined) report(path, "must be an object");
};

export function oneOfField(...choices: readonly string[]): SetupShape {
  return (value, path, report) => {
    if (typeof value !== "string" || !choices.includes(value)) {
      report(path, `must be one of ${choices.join(", ")}`);
    }
  };
}

export function integerField(min: number, max: number): SetupShape {
  return (value, path, report) => {
    const valid = Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
    if (!valid) report(path, `must be an integer from ${min} to ${max}`);
  };
}

export function listOf(shape: SetupShape, { min, max }: { min: number; max: number }): SetupShape {
  return (value, path, report) => {
    if (!Array.isArray(value)) {
      report(path, "must be a list");
      return;
    }
    if (value.length < min) report(path, `has fewer than ${min} entries`);
    if (value.length > max) report(path, `has more than ${max} entries`);
    else for (const [index, each] of value.entries()) shape(each, `${path}/${index}`, report);
  };
}

/** An object with arbitrary field names. */
export function recordOf(shape: SetupShape): SetupShape {
  return (value, path, report) => {
    const object = asObject(value);
    if (object === undefined) report(path, "must be an object");
    for (const [name, each] of Object.entries(object ?? {})) {
      shape(each as JsonValue, `${path}/${pointer(name)}`, report);
    }
  };
}

export function structureField(fields: Readonly<Record<string, Field>>): SetupShape {
  return (value, path, report) => {
    const object: JsonObject | undefined = asObject(value);
    if (object === undefined) {
      report(path, "must be an object");
      return;
    }
    for (const name of Object.keys(object)) {
      if (Object.hasOwn(fields, name)) continue;
      const allowed = Object.keys(fields).join(", ");
      report(`${path}/${pointer(name)}`, `is an unknown field; the fields are ${allowed}`);
    }
    for (const [name, field] of Object.entries(fields)) {
      const member = Object.hasOwn(object, name) ? object[name] : undefined;
      if (member !== undefined) field.shape(member as JsonValue, `${path}/${name}`, report);
      else if (field.required) report(`${path}/${name}`, "is missing");
    }
  };
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
