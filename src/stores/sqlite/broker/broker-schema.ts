// The broker's file: its tables, its settings, and how a new one comes into being.
//   B1. A file is created whole or not at all: built under another name, then renamed.
//   B2. What a receive changes has a fixed width, so that an update never moves other rows.
//   B3. Bodies live apart from heads: neither a receive nor a start touches them.
//   B4. Keys of the hot path only grow, so that inserts go to the right edge of each tree.

import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { cannotOpen } from "../../../ledger/sqlite-code.ts";
import { syncPath } from "../renew-log.ts";
import { addObjectTables, OBJECT_SCHEMA_VERSION } from "./object-schema.ts";
import { rowCheck } from "./row-check.ts";

/** "TGbr": tells our file from anybody else's SQLite file. */
export const APPLICATION_ID = 0x54476272;
export const SCHEMA_VERSION = OBJECT_SCHEMA_VERSION;
export const BROKER_FILE = "broker.sqlite";
export const PAGE_BYTES = 4_096;

/** The log is folded into the file once it holds this many pages (16 MiB). */
export const CHECKPOINT_PAGES = 4_000;
const CACHE_KIBIBYTES = 16_000;
/** A log that grew beyond this (one huge commit) is cut back at the next checkpoint. */
const LOG_BYTES_KEPT_MAX = 64 * 1_024 * 1_024;

const TABLES = [
  `CREATE TABLE block (
    first INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    heads BLOB NOT NULL,
    groups TEXT,
    block_check INTEGER NOT NULL
  )`,
  `CREATE TABLE content (
    first INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL,
    content_check INTEGER NOT NULL,
    text TEXT NOT NULL
  )`,
  `CREATE TABLE receipt (
    page INTEGER PRIMARY KEY,
    slots BLOB NOT NULL,
    receipt_check INTEGER NOT NULL
  )`,
  `CREATE TABLE dedup (
    queue INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL,
    first INTEGER NOT NULL,
    entries TEXT NOT NULL,
    dedup_check INTEGER NOT NULL,
    PRIMARY KEY (queue, accepted_at, first)
  ) WITHOUT ROWID`,
  `CREATE TABLE document (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    document_check INTEGER NOT NULL,
    PRIMARY KEY (collection, key)
  ) WITHOUT ROWID`,
  `CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    sequence_check INTEGER NOT NULL
  )`,
] as const;

/** Tables are made at once and never rebuilt, so each has its place in the file for good. */
const FIRST_ROOT_PAGE = 2;

/** The first format as SQLite keeps it: where each table is rooted, and its text. */
export const SCHEMA_ROWS: readonly string[] = TABLES.map(
  (sql, index) => `${FIRST_ROOT_PAGE + index} ${sql}`,
);

/** Tables whose every page is verified at the start; bodies are verified as they are read (B3). */
export const VERIFIED_TABLES = ["block", "receipt", "dedup", "document", "meta"] as const;

export function createBrokerFile(folder: string): void {
  const path = join(folder, BROKER_FILE);
  const draft = `${path}.new`;
  for (const leftover of [draft, `${draft}-wal`, `${draft}-journal`])
    rmSync(leftover, { force: true });
  const database = new DatabaseSync(draft);
  try {
    database.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA auto_vacuum = NONE;
      PRAGMA locking_mode = EXCLUSIVE;
      PRAGMA journal_mode = WAL;
      PRAGMA application_id = ${APPLICATION_ID};
      BEGIN;
      ${TABLES.join(";\n")};
      INSERT INTO meta VALUES (1, 0, ${rowCheck(0)});
    `);
    addObjectTables(database);
    database.exec("COMMIT");
  } finally {
    database.close(); // Folds the log into the file and removes it.
  }
  syncPath(draft);
  renameSync(draft, path); // B1
  syncPath(folder);
}

/** How long a connection waits for another one of ours that is just opening or closing the file. */
const BUSY_MS = 5_000;

/** The connection that writes; there is one, on a thread of its own. */
export function openWriter(path: string, pageCountMax: number | undefined): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    database.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -${CACHE_KIBIBYTES};
      PRAGMA journal_size_limit = ${LOG_BYTES_KEPT_MAX};
      PRAGMA secure_delete = OFF;
      PRAGMA temp_store = MEMORY;
      PRAGMA trusted_schema = OFF;
    `);
    if (pageCountMax !== undefined) database.exec(`PRAGMA max_page_count = ${pageCountMax}`);
    // Shows that the folder may be written to before anybody is told that the broker is ready.
    database.exec("BEGIN IMMEDIATE");
    if (formatOf(database) < SCHEMA_VERSION) addObjectTables(database);
    database.exec("COMMIT");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function formatOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.user_version);
}

/** A connection for reading beside the one that writes. */
export function openReader(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  database.exec(`PRAGMA cache_size = -${CACHE_KIBIBYTES}; PRAGMA temp_store = MEMORY`);
  return database;
}

/** A connection that can change nothing: no lock, no index file, no checkpoint when it closes. */
export function openVerifier(path: string): DatabaseSync {
  const database = openLockless(path);
  // Exclusive mode keeps the index of the log in this process's memory, not in a file beside it.
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY");
  return database;
}

function openLockless(path: string): DatabaseSync {
  const system = process.platform === "win32" ? "win32-none" : "unix-none";
  const escaped = path.replaceAll("%", "%25").replaceAll("?", "%3f").replaceAll("#", "%23");
  try {
    return new DatabaseSync(`file:${escaped}?vfs=${system}`, { readOnly: true });
  } catch (error) {
    if (!cannotOpen(error)) throw error;
    // Node before 22.15 takes no addresses for names. A plain connection reads the same and folds
    // the log into the file when it closes, even when it is going to refuse the file.
    return new DatabaseSync(path);
  }
}
