// Shape checks: whether a parsed JSON value has the types that its shape requires. Compiled once
// per action, because every request runs one.
//   K1. The valid case allocates nothing.
//   K2. A wrong type is reported with the message of AWS's own parser.

import { unreachable } from "../../../core/assert.ts";
import { isObject } from "../../../core/is-object.ts";
import type { MapShape, Shape, StructureShape } from "./shape.ts";

/** Returns what is wrong with a value, or null if its types are right. */
export type ShapeCheck = (value: unknown) => string | null;

export function compileCheck(shape: Shape): ShapeCheck {
  switch (shape.kind) {
    case "string":
      return (value) => (typeof value === "string" ? null : misfit(value, "a String"));
    case "integer":
      return (value) => (Number.isSafeInteger(value) ? null : misfit(value, "an Integer"));
    case "boolean":
      return (value) => (typeof value === "boolean" ? null : misfit(value, "a Boolean"));
    case "blob":
      return checkBlob;
    case "list":
      return compileList(compileCheck(shape.member));
    case "map":
      return compileMap(shape);
    case "structure":
      return compileStructure(shape);
    default:
      return unreachable(shape);
  }
}

/** Whether text is padded base64, as every SDK writes it. */
export function isBase64(value: string): boolean {
  return value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value);
}

function checkBlob(value: unknown): string | null {
  if (typeof value !== "string") return misfit(value, "a Blob");
  return isBase64(value) ? null : "A Blob must be base64.";
}

function compileList(check: ShapeCheck): ShapeCheck {
  return (value) => {
    if (!Array.isArray(value)) return misfit(value, "a List");
    for (const element of value) {
      const wrong = check(element);
      if (wrong !== null) return wrong;
    }
    return null;
  };
}

function compileMap(shape: MapShape): ShapeCheck {
  const check = compileCheck(shape.value);
  return (value) => {
    if (!isObject(value)) return misfit(value, "a Map");
    for (const key of Object.keys(value)) {
      const wrong = check(value[key]);
      if (wrong !== null) return wrong;
    }
    return null;
  };
}

function compileStructure(shape: StructureShape): ShapeCheck {
  const names = Object.keys(shape.fields);
  const checks = Object.values(shape.fields).map(compileCheck);
  return (value) => {
    if (!isObject(value)) return misfit(value, "a Structure");
    for (let i = 0; i < names.length; i++) {
      const field = value[names[i]!];
      if (field === undefined || field === null) continue; // W2
      const wrong = checks[i]!(field);
      if (wrong !== null) return wrong;
    }
    return null;
  };
}

function misfit(value: unknown, wanted: string): string {
  if (Array.isArray(value)) return "Start of list found where not expected.";
  switch (typeof value) {
    case "string":
      return `STRING_VALUE can not be converted to ${wanted}`;
    case "number":
      return `NUMBER_VALUE can not be converted to ${wanted}`;
    case "boolean":
      return `${value ? "TRUE" : "FALSE"}_VALUE can not be converted to ${wanted}`;
    case "object":
      if (value === null) return `NULL_VALUE can not be converted to ${wanted}`;
      return "Start of structure or map found where not expected.";
    default:
      return `The value can not be converted to ${wanted}`;
  }
}
