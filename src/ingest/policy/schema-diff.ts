// Schema diff: compares two JSON Schemas, and says which changes reject what was accepted before.
//   S1. A change of a keyword that is not known here counts as incompatible: a person has to look.
//   S2. Keywords that only describe are ignored.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { isObject } from "../../core/is-object.ts";
import { type ContractChange, changedText, same, unionOf } from "./contract-change.ts";

/** Keywords that describe and never reject (S2). */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
]);
/** Bounds, and whether a larger value accepts more. */
const BOUNDS: ReadonlyMap<string, boolean> = new Map([
  ["maximum", true],
  ["exclusiveMaximum", true],
  ["maxLength", true],
  ["maxItems", true],
  ["maxProperties", true],
  ["minimum", false],
  ["exclusiveMinimum", false],
  ["minLength", false],
  ["minItems", false],
  ["minProperties", false],
]);
const SCHEMA_DEPTH_MAX = 64;

/** What a schema rejects from now on, or accepts in addition; null accepts everything. */
export function diffSchemas(before: JsonValue, after: JsonValue): readonly ContractChange[] {
  if (same(before, after)) return [];
  if (before === null) {
    return [{ path: "schema", compatible: false, what: "added: what it rejects was accepted" }];
  }
  if (after === null) return [{ path: "schema", compatible: true, what: "removed" }];
  if (!isObject(before) || !isObject(after)) {
    return [{ path: "schema", compatible: false, what: "changed; its library cannot describe it" }];
  }
  return diffSchema("schema", before, after, 0);
}

function diffSchema(
  path: string,
  before: JsonObject,
  after: JsonObject,
  depth: number,
): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  if (depth > SCHEMA_DEPTH_MAX) return [{ path, compatible: false, what: "nested too deeply" }];
  for (const keyword of unionOf(Object.keys(before), Object.keys(after))) {
    const [old, next] = [before[keyword], after[keyword]];
    if (ANNOTATIONS.has(keyword) || same(old ?? null, next ?? null)) continue;
    const at = `${path}.${keyword}`;
    if (keyword === "properties" && isObject(old) && isObject(next)) {
      changes.push(...diffProperties(path, { old, next }, after, depth));
    } else if (keyword === "items" && isObject(old) && isObject(next)) {
      changes.push(...diffSchema(`${path}[]`, old, next, depth + 1));
    } else {
      changes.push({
        path: at,
        compatible: accepts(keyword, old, next),
        what: changedText(old, next),
      });
    }
  }
  return changes;
}

function diffProperties(
  path: string,
  { old, next }: { readonly old: JsonObject; readonly next: JsonObject },
  after: JsonObject,
  depth: number,
): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  for (const name of unionOf(Object.keys(old), Object.keys(next))) {
    const [from, to] = [old[name], next[name]];
    const at = `${path}.${name}`;
    if (from === undefined) changes.push({ path: at, compatible: true, what: "added" });
    else if (to === undefined) {
      const open = after.additionalProperties !== false;
      changes.push({ path: at, compatible: open, what: "removed" });
    } else if (isObject(from) && isObject(to)) {
      changes.push(...diffSchema(at, from, to, depth + 1));
    } else if (!same(from, to)) {
      changes.push({ path: at, compatible: to === true, what: changedText(from, to) });
    }
  }
  return changes;
}

/** Whether everything that `old` accepted is accepted by `next` (S1). */
function accepts(
  keyword: string,
  old: JsonValue | undefined,
  next: JsonValue | undefined,
): boolean {
  if (next === undefined) return keyword !== "properties" && keyword !== "$defs";
  if (keyword === "required" && Array.isArray(next)) {
    const before = Array.isArray(old) ? old : [];
    return next.every((name) => before.includes(name));
  }
  if (keyword === "type" || keyword === "enum") {
    if (old === undefined) return false;
    const [from, to] = [listOf(old), listOf(next)];
    const widened = keyword === "type" && to.includes("number");
    return from.every((each) => to.includes(each) || (widened && each === "integer"));
  }
  const bound = BOUNDS.get(keyword);
  if (bound !== undefined && typeof old === "number" && typeof next === "number") {
    return bound ? next >= old : next <= old;
  }
  return keyword === "additionalProperties" && next === true;
}

function listOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? value : [value];
}
