// Open read-only: a connection that reads a ledger beside running pipelines and writes nothing.
//   O1. A database with a write-ahead log needs an index file beside it, even for reading. SQLite
//       creates the file, which fails in a read-only folder.
//   O2. Without a log the file is complete and no process writes it, so it can be read as
//       immutable, without an index. With a log this would miss records, so the error is reported.

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { openSettled } from "../open-file.ts";

export function openReadOnly(path: string, timeout: number): DatabaseSync {
  return openSettled(path, () => openOnce(path, timeout));
}

function openOnce(path: string, timeout: number): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly: true, timeout });
  try {
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return db;
  } catch (error) {
    db.close();
    if (existsSync(`${path}-wal`)) throw error; // O2
    return openImmutable(path, error);
  }
}

/** O1 */
function openImmutable(path: string, reason: unknown): DatabaseSync {
  const escaped = path.replaceAll("%", "%25").replaceAll("?", "%3f").replaceAll("#", "%23");
  try {
    const db = new DatabaseSync(`file:${escaped}?immutable=1`, { readOnly: true });
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return db;
  } catch {
    throw reason; // The first error says more: the file is damaged, or Node accepts no URLs.
  }
}
