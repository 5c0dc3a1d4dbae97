// Object schema: the tables of objects, added in the second format of the broker's file.
//   O1. A file of the first format gets them when it is opened for writing, in one transaction. It
//       has one format or the other, never a mix.
//   O2. The root page of a table depends on the file it was added to, so the root pages are stored
//       beside the tables, with a checksum: a flipped bit in one would lead to the rows of another.
//   O3. Rows are verified as they are read. Millions of objects must not make a start slow.

import type { DatabaseSync } from "node:sqlite";
import { rowCheck } from "./row-check.ts";

export const OBJECT_SCHEMA_VERSION = 2;

// Versions of a key are sorted newest first: `age` is the negated sequence number.
export const OBJECT_TABLES = [
  `CREATE TABLE object_place (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    roots TEXT NOT NULL,
    roots_check INTEGER NOT NULL
  )`,
  `CREATE TABLE object (
    bucket INTEGER NOT NULL,
    key TEXT NOT NULL,
    age INTEGER NOT NULL,
    version TEXT NOT NULL,
    marker INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    storage_class TEXT NOT NULL,
    detail TEXT NOT NULL,
    entry_check INTEGER NOT NULL,
    pieces TEXT NOT NULL,
    pieces_check INTEGER NOT NULL,
    PRIMARY KEY (bucket, key, age)
  ) WITHOUT ROWID`,
  `CREATE TABLE blob (
    id TEXT PRIMARY KEY
  ) WITHOUT ROWID`,
  `CREATE TABLE upload (
    bucket INTEGER NOT NULL,
    key TEXT NOT NULL,
    id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    storage_class TEXT NOT NULL,
    detail TEXT NOT NULL,
    upload_check INTEGER NOT NULL,
    PRIMARY KEY (bucket, key, id)
  ) WITHOUT ROWID`,
  `CREATE TABLE part (
    upload TEXT NOT NULL,
    number INTEGER NOT NULL,
    blob TEXT NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    checksum TEXT NOT NULL,
    modified_at INTEGER NOT NULL,
    part_check INTEGER NOT NULL,
    PRIMARY KEY (upload, number)
  ) WITHOUT ROWID`,
] as const;

const TABLE_NAMES = ["object", "blob", "upload", "part"];

/** Adds the tables; the caller has a transaction open (O1). */
export function addObjectTables(database: DatabaseSync): void {
  database.exec(OBJECT_TABLES.join(";\n"));
  recordObjectRoots(database);
  database.exec(`PRAGMA user_version = ${OBJECT_SCHEMA_VERSION}`);
}

/** Stores the root pages of the tables, as they are now (O2). */
export function recordObjectRoots(database: DatabaseSync): void {
  const roots = rootsOf(database);
  const put = database.prepare("INSERT OR REPLACE INTO object_place VALUES (1, ?, ?)");
  put.run(roots, rowCheck(roots));
}

/** Whether the root pages of the tables are unchanged since their creation (O2). */
export function areObjectRootsSound(database: DatabaseSync): boolean {
  const row = database.prepare("SELECT roots, roots_check FROM object_place").get();
  const roots = row?.roots;
  if (typeof roots !== "string" || roots !== rootsOf(database)) return false;
  return row?.roots_check === rowCheck(roots);
}

function rootsOf(database: DatabaseSync): string {
  const rows = database.prepare("SELECT name, rootpage FROM sqlite_schema").all();
  const places = rows.filter(({ name }) => TABLE_NAMES.includes(String(name)));
  return places.map(({ name, rootpage }) => `${name} ${rootpage}`).join(", ");
}
