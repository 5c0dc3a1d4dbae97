// Record outcomes: the words of the command line for the states of records in a ledger.

import type { StoredRecord } from "../../ports/record.ts";

export const OUTCOMES = {
  committed: "committed",
  "dead-lettered": "parked",
  retrying: "failed",
  returned: "released",
  "in-progress": "claimed",
} as const satisfies Record<string, StoredRecord["kind"]>;

export type OutcomeName = keyof typeof OUTCOMES;

export function outcomeName(kind: StoredRecord["kind"]): string {
  return Object.entries(OUTCOMES).find(([, state]) => state === kind)?.[0] ?? kind;
}
