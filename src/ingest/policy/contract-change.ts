// Contract change: one difference between two ingestion contracts, and how its values are shown.

import { canonicalJson } from "../../core/encoding/canonical-json.ts";

/** A field of a contract that changed, and whether everything that was fine before still is. */
export interface ContractChange {
  readonly path: string;
  readonly compatible: boolean;
  /** A clause: what changed, and what follows. */
  readonly what: string;
}

const VALUE_CHARS_MAX = 80;

export function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

export function unionOf(a: readonly string[], b: readonly string[]): readonly string[] {
  return [...new Set([...a, ...b])];
}

export function changedText(before: unknown, after: unknown): string {
  return `changed from ${textOf(before)} to ${textOf(after)}`;
}

function textOf(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = canonicalJson(value);
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX)}...`;
}
