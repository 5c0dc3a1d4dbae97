// Notebook sink: an idempotent sink with its own file, as a user would write one (K2 of
// ports/sink.ts). It also records every call.
//   N1. A call with the same or a higher fence replaces a row; a lower fence changes nothing.

import { DatabaseSync } from "node:sqlite";
import type { SinkFunction } from "../../src/ports/sink.ts";

const BUSY_MS = 5_000;

export function openNotebook(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS notes (key TEXT PRIMARY KEY, fence INTEGER, rows TEXT);
    CREATE TABLE IF NOT EXISTS calls (key TEXT, fence INTEGER, owner TEXT, applied INTEGER)`);
  return db;
}

/** The sink as a pipeline file would use it. */
export function createNotebookSink(path: string, owner: string): SinkFunction {
  const db = openNotebook(path);
  const put = db.prepare(`INSERT INTO notes VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE
    SET fence = excluded.fence, rows = excluded.rows WHERE excluded.fence >= notes.fence`);
  const note = db.prepare("INSERT INTO calls VALUES (?, ?, ?, ?)");
  return (effects, { key, fence }) => {
    db.exec("BEGIN IMMEDIATE");
    const { changes } = put.run(key, fence, JSON.stringify(effects)); // N1
    note.run(key, fence, owner, changes);
    db.exec("COMMIT");
  };
}
