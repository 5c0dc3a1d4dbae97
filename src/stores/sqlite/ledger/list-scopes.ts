// List scopes: the pipelines of a ledger file, from the small table of their names. `stats` counts
// all records instead. A start that was killed leaves a file without a ledger behind.

import type { LedgerScope } from "../../../ports/record.ts";
import { openReadOnly } from "./open-read-only.ts";
import { SQLITE_LEDGER, schemaInFile } from "./schema.ts";

const BUSY_MS = 1_000;

/** Null if the file contains no ledger. */
export function listSqliteScopes(path: string): LedgerScope[] | null {
  const db = openReadOnly(path, BUSY_MS);
  try {
    if (schemaInFile(db, SQLITE_LEDGER.part) === null) return null;
    const rows = db.prepare("SELECT pipeline, generation FROM ledger_scope ORDER BY 1, 2").all();
    return rows.map(({ pipeline, generation }) => {
      return { pipeline: String(pipeline), generation: Number(generation) };
    });
  } finally {
    db.close();
  }
}
