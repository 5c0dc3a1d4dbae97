// Contract diff: compares two ingestion contracts, and says which changes would reject, duplicate,
// expose or lose data that was fine before.
//   C1. A change that cannot be judged counts as incompatible: a person has to look at it.
//   C2. "compatible" means that everything that was accepted before is still accepted, under the
//       same key, with at least the same masks, in the same tables.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { canonicalJson } from "../../core/encoding/canonical-json.ts";

export const CONTRACT_VERSION = 1;

/** A function of the pipeline file: not comparable, but recognisable by its text. */
export interface ContractFunction {
  readonly function: string;
}

export interface ContractTable {
  readonly key: readonly string[];
  /** Types by column; null for columns of an existing table. */
  readonly columns: Readonly<Record<string, string | null>>;
  readonly existing: boolean;
}

/** What a pipeline accepts, how it identifies records, and where it writes. */
export interface Contract {
  readonly contract: typeof CONTRACT_VERSION;
  readonly pipeline: string;
  readonly source: JsonObject;
  readonly key: string | ContractFunction;
  readonly eventTime: string | ContractFunction;
  /** The schema as JSON Schema; a text if its library cannot describe it; null without one. */
  readonly schema: JsonValue;
  readonly format: JsonObject;
  readonly retry: JsonObject;
  readonly mask: readonly string[];
  /** Absent in contracts of earlier versions; null without a `govern` function. */
  readonly govern?: ContractFunction | null;
  readonly policies: JsonObject;
  readonly tables: Readonly<Record<string, ContractTable>>;
}

export interface ContractChange {
  readonly path: string;
  readonly compatible: boolean;
  /** A clause: what changed, and what follows. */
  readonly what: string;
}

/** Every difference, in the order of the contract's fields. */
export function diffContracts(before: Contract, after: Contract): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  const add = (path: string, compatible: boolean, what: string) =>
    void changes.push({ path, compatible, what });
  if (before.pipeline !== after.pipeline) {
    add("pipeline", false, `renamed from ${before.pipeline}: the ledger starts empty`);
  }
  for (const name of ["source", "format"] as const) {
    for (const field of changedFields(before[name], after[name])) {
      add(`${name}.${field}`, false, changed(before[name][field], after[name][field]));
    }
  }
  if (!same(before.key, after.key)) {
    add("key", false, "the key changed: records that were processed are new under another key");
  }
  if (!same(before.eventTime, after.eventTime)) {
    add("eventTime", false, "the event time changed: lanes and windows of replays change");
  }
  changes.push(...diffSchemas(before.schema, after.schema));
  for (const name of ["retry", "policies"] as const) {
    for (const field of changedFields(before[name], after[name])) {
      add(`${name}.${field}`, name === "retry", changed(before[name][field], after[name][field]));
    }
  }
  for (const path of before.mask) {
    if (!after.mask.includes(path)) add("mask", false, `${path} is no longer hidden`);
  }
  for (const path of after.mask) {
    if (!before.mask.includes(path)) add("mask", true, `${path} is hidden`);
  }
  changes.push(...diffGovern(before.govern ?? null, after.govern ?? null));
  changes.push(...diffTables(before.tables, after.tables));
  return changes;
}

/** C1: a rule that is new or changed may refuse what was accepted, or allow what was refused. */
function diffGovern(
  before: ContractFunction | null,
  after: ContractFunction | null,
): readonly ContractChange[] {
  if (same(before, after)) return [];
  if (before === null) {
    return [{ path: "govern", compatible: false, what: "added: what it refuses was accepted" }];
  }
  const what = after === null ? "removed: what it refused is accepted" : "the rule changed";
  return [{ path: "govern", compatible: false, what }];
}

function diffTables(
  before: Contract["tables"],
  after: Contract["tables"],
): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  for (const name of unionOf(Object.keys(before), Object.keys(after))) {
    const [old, next] = [before[name], after[name]];
    const path = `tables.${name}`;
    if (old === undefined) changes.push({ path, compatible: true, what: "added" });
    else if (next === undefined) changes.push({ path, compatible: false, what: "removed" });
    else changes.push(...diffTable(path, old, next));
  }
  return changes;
}

function diffTable(path: string, old: ContractTable, next: ContractTable): ContractChange[] {
  const changes: ContractChange[] = [];
  if (!same(old.key, next.key)) {
    changes.push({ path: `${path}.key`, compatible: false, what: changed(old.key, next.key) });
  }
  if (old.existing !== next.existing) {
    const what = changed(old.existing, next.existing);
    changes.push({ path: `${path}.existing`, compatible: false, what });
  }
  for (const column of unionOf(Object.keys(old.columns), Object.keys(next.columns))) {
    const [from, to] = [old.columns[column], next.columns[column]];
    if (from === to) continue;
    const what = from === undefined ? "added" : to === undefined ? "removed" : changed(from, to);
    changes.push({ path: `${path}.columns.${column}`, compatible: from === undefined, what });
  }
  return changes;
}

/** Keywords that describe and never reject. */
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

function diffSchemas(before: JsonValue, after: JsonValue): readonly ContractChange[] {
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
      changes.push({ path: at, compatible: accepts(keyword, old, next), what: changed(old, next) });
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
      changes.push({ path: at, compatible: to === true, what: changed(from, to) });
    }
  }
  return changes;
}

/** Whether everything that `old` accepted is accepted by `next` (C1). */
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

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function changedFields(before: JsonObject, after: JsonObject): readonly string[] {
  return unionOf(Object.keys(before), Object.keys(after)).filter(
    (name) => !same(before[name] ?? null, after[name] ?? null),
  );
}

function unionOf(a: readonly string[], b: readonly string[]): readonly string[] {
  return [...new Set([...a, ...b])];
}

function changed(before: unknown, after: unknown): string {
  return `changed from ${textOf(before)} to ${textOf(after)}`;
}

const VALUE_CHARS_MAX = 80;

function textOf(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = canonicalJson(value);
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX)}...`;
}
