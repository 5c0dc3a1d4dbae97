// List scopes: the pipelines of a ledger file, from the small table of their names. `stats` counts
// all records instead.

import type { LedgerScope } from "../../../ports/record.ts";
import { openReadOnly } from "./open-read-only.ts";

const BUSY_MS = 1_000;

export function listSqliteScopes(path: string): LedgerScope[] {
  const db = openReadOnly(path, BUSY_MS);
  try {
    const rows = db.prepare("SELECT pipeline, generation FROM ledger_scope ORDER BY 1, 2").all();
    return rows.map(({ pipeline, generation }) => {
      return { pipeline: String(pipeline), generation: Number(generation) };
    });
  } finally {
    db.close();
  }
}
