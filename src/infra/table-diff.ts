// Table diff: compares a DynamoDB table with what the ledger or the outbox expects.

import type { Compare, LiveTable } from "./infra-diff.ts";

/** The indexes of listed records, and the attribute that orders each; a test compares them. */
export const LEDGER_LIST_INDEXES = {
  "records-by-commit-time": "lco",
  "records-by-event-time": "lev",
  "records-by-object": "lob",
} as const;

/** What the stores create themselves; a test compares it with them. */
export const EXPECTED_TABLES: Readonly<Record<"ledger" | "outbox", Omit<LiveTable, "backedUp">>> = {
  ledger: {
    keys: ["pk HASH"],
    indexes: { notes: ["np HASH", "nm RANGE"] },
    ttlAttribute: "ttl",
  },
  outbox: { keys: ["pk HASH", "sk RANGE"], indexes: {}, ttlAttribute: "ttl" },
};

export function tableDifferences(
  kind: "ledger" | "outbox",
  { listing }: { readonly listing: boolean },
  table: LiveTable,
  compare: Compare,
): void {
  const expected = EXPECTED_TABLES[kind];
  compare("keys", expected.keys.join(", "), table.keys.join(", "));
  for (const [name, keys] of Object.entries({ ...expected.indexes, ...listIndexes(listing) })) {
    compare(`index ${name}`, keys.join(", "), table.indexes[name]?.join(", "));
  }
  if (expected.ttlAttribute !== null) {
    compare("time to live", expected.ttlAttribute, table.ttlAttribute ?? "off");
  }
  if (table.backedUp !== null) {
    compare("point-in-time recovery", "on", table.backedUp ? "on" : "off");
  }
}

function listIndexes(listing: boolean): LiveTable["indexes"] {
  const entries = listing ? Object.entries(LEDGER_LIST_INDEXES) : [];
  return Object.fromEntries(entries.map(([name, sort]) => [name, ["lp HASH", `${sort} RANGE`]]));
}
