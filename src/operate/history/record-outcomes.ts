// Record outcomes: the words of command line and console for the states of records in a ledger.

import type { StoredRecord } from "../../ports/record.ts";

export const OUTCOMES = {
  committed: "committed",
  "dead-lettered": "parked",
  retrying: "failed",
  returned: "released",
  "in-progress": "claimed",
} as const satisfies Record<string, StoredRecord["kind"]>;

export type OutcomeName = keyof typeof OUTCOMES;

export function outcomeName(kind: StoredRecord["kind"]): OutcomeName {
  const words = Object.keys(OUTCOMES) as OutcomeName[];
  return words.find((word) => OUTCOMES[word] === kind) ?? "in-progress";
}

/** The number of effects that a record committed; null if it did not, or did not say. */
export function effectRowsOf(record: StoredRecord): number | null {
  if (record.kind !== "committed") return null;
  try {
    const { effects } = JSON.parse(record.effects ?? "{}") as { effects?: Record<string, number> };
    if (typeof effects !== "object" || effects === null) return null;
    return Object.values(effects).reduce((sum, count) => sum + count, 0);
  } catch {
    return null; // A caller of the library wrote its own text.
  }
}
