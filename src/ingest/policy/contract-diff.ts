// Contract diff: compares two ingestion contracts, and says which changes would reject, duplicate,
// expose or lose data that was fine before.
//   C1. A change that cannot be judged counts as incompatible: a person has to look at it.
//   C2. "compatible" means that everything that was accepted before is still accepted, under the
//       same key and in the same lane, with at least the same masks, in the same tables.
//   C3. Every field of a contract is compared: the rules below have a row for each.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { type ContractChange, changedText, same, unionOf } from "./contract-change.ts";
import { diffSchemas } from "./schema-diff.ts";

export type { ContractChange };

export const CONTRACT_VERSION = 2;

export interface ContractTable {
  readonly key: readonly string[];
  /** Types by column; null for columns of an existing table. */
  readonly columns: Readonly<Record<string, string | null>>;
  readonly existing: boolean;
}

/** What a pipeline accepts, how it identifies and orders records, and where it writes. */
export interface Contract {
  readonly contract: typeof CONTRACT_VERSION;
  readonly pipeline: string;
  /** Where records come from, and how a message becomes records. */
  readonly source: JsonObject;
  /** What the transport and the runtime promise: duplicates, order, and how effects are applied. */
  readonly delivery: JsonObject;
  /** The schema as JSON Schema; a text if its library cannot describe it; null without one. */
  readonly schema: JsonValue;
  readonly format: JsonObject;
  readonly eventTime: JsonObject;
  readonly retry: JsonObject;
  /** What happens to bad rows, poison records, and removed or missing objects. */
  readonly policies: JsonObject;
  readonly mask: readonly string[];
  readonly retention: JsonObject;
  /** What the handler is, and what it reads: digests, parameters and versions. */
  readonly handler: JsonObject;
  readonly sink: JsonObject;
  readonly tables: Readonly<Record<string, ContractTable>>;
}

/** Whether a change of a field is compatible, and what follows from it. */
interface Rule {
  readonly compatible: boolean | ((before: JsonValue, after: JsonValue) => boolean);
  readonly why?: string;
}

const INCOMPATIBLE: Rule = { compatible: false };
const COMPATIBLE: Rule = { compatible: true };
/** Null stands for no limit. */
const IF_LONGER: Rule["compatible"] = (before, after) =>
  after === null || (before !== null && Number(after) >= Number(before));

/** By section, the fields whose change is not simply incompatible (C1, C3). */
const RULES = {
  source: {
    key: { compatible: false, why: "records that were processed are new under another key" },
    generation: { compatible: false, why: "another generation starts with an empty ledger" },
  },
  delivery: {
    lease: COMPATIBLE,
    timeoutMs: { compatible: IF_LONGER },
    visibilityMs: COMPATIBLE,
    concurrency: COMPATIBLE,
  },
  format: {},
  eventTime: {
    of: { compatible: false, why: "lanes and windows of replays change" },
    partition: { compatible: false, why: "each partition has a watermark of its own" },
    outOfOrderMs: { compatible: IF_LONGER },
    allowedLatenessMs: { compatible: IF_LONGER },
  },
  retry: {
    attempts: COMPATIBLE,
    baseMs: COMPATIBLE,
    capMs: COMPATIBLE,
    classify: { compatible: false, why: "other errors are retried" },
  },
  policies: {
    govern: { compatible: false, why: "another rule refuses other records" },
    archive: {
      compatible: (before) => before === null,
      why: "a replay finds messages only where they were archived",
    },
  },
  retention: {
    ledgerDays: { compatible: IF_LONGER, why: "a duplicate that comes later is processed again" },
    outboxDays: { compatible: IF_LONGER },
    logCommits: COMPATIBLE,
  },
  handler: {
    function: { compatible: true, why: "rows of new records may differ" },
    seed: { compatible: true, why: "random values of new records differ" },
    parameters: { compatible: true, why: "rows of new records may differ" },
    models: { compatible: true, why: "rows of new records may differ" },
    lookups: { compatible: true, why: "rows of new records may differ" },
  },
  sink: {},
} as const satisfies Partial<Record<keyof Contract, Readonly<Record<string, Rule>>>>;

export type ContractSection = keyof typeof RULES;

export const CONTRACT_SECTIONS = Object.keys(RULES) as readonly ContractSection[];

/** Every difference, section by section. */
export function diffContracts(before: Contract, after: Contract): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  if (before.pipeline !== after.pipeline) {
    const what = `renamed from ${before.pipeline}: the ledger starts empty`;
    changes.push({ path: "pipeline", compatible: false, what });
  }
  for (const section of CONTRACT_SECTIONS) {
    changes.push(...diffSection(section, before[section], after[section]));
  }
  return [
    ...changes,
    ...diffSchemas(before.schema, after.schema),
    ...diffMasks(before.mask, after.mask),
    ...diffTables(before.tables, after.tables),
  ];
}

function diffSection(
  section: ContractSection,
  before: JsonObject,
  after: JsonObject,
): readonly ContractChange[] {
  const rules: Readonly<Record<string, Rule>> = RULES[section];
  const fields = unionOf(Object.keys(before), Object.keys(after));
  return fields
    .filter((field) => !same(before[field], after[field]))
    .map((field) => {
      const { compatible, why } = rules[field] ?? INCOMPATIBLE; // C1
      const [old, next] = [before[field] ?? null, after[field] ?? null];
      const what = changedText(before[field], after[field]);
      return {
        path: `${section}.${field}`,
        compatible: typeof compatible === "boolean" ? compatible : compatible(old, next),
        what: why === undefined ? what : `${what}: ${why}`,
      };
    });
}

function diffMasks(before: readonly string[], after: readonly string[]): ContractChange[] {
  const removed = before.filter((path) => !after.includes(path));
  const added = after.filter((path) => !before.includes(path));
  return [
    ...removed.map((path) => ({
      path: "mask",
      compatible: false,
      what: `${path} is no longer hidden`,
    })),
    ...added.map((path) => ({ path: "mask", compatible: true, what: `${path} is hidden` })),
  ];
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
    changes.push({ path: `${path}.key`, compatible: false, what: changedText(old.key, next.key) });
  }
  if (old.existing !== next.existing) {
    const what = changedText(old.existing, next.existing);
    changes.push({ path: `${path}.existing`, compatible: false, what });
  }
  for (const column of unionOf(Object.keys(old.columns), Object.keys(next.columns))) {
    const [from, to] = [old.columns[column], next.columns[column]];
    if (from === to) continue;
    const what =
      from === undefined ? "added" : to === undefined ? "removed" : changedText(from, to);
    changes.push({ path: `${path}.columns.${column}`, compatible: from === undefined, what });
  }
  return changes;
}
