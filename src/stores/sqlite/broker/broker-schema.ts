// Broker schema: the tables and settings of the broker's file, and the creation of a new one.
//   B1. A file is created whole or not at all: built under another name, then renamed.
//   B2. The columns that a receive changes have a fixed width, so that an update never moves other
//       rows.
//   B3. Bodies are stored apart from heads: neither a receive nor a start touches them.
//   B4. Keys on the hot path only grow, so that inserts go to the right edge of each tree.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { buildDatabase } from "../open-file.ts";
import { putInPlace, removeDraft } from "../replace-file.ts";
import { cannotOpen } from "../sqlite-code.ts";
import { addObjectTables, OBJECT_SCHEMA_VERSION } from "./object-schema.ts";
import { rowCheck } from "./row-check.ts";

/** "TGbr": distinguishes the broker's file from other SQLite files. */
export const APPLICATION_ID = 0x54476272;
export const SCHEMA_VERSION = OBJECT_SCHEMA_VERSION;
export const BROKER_FILE = "broker.sqlite";
/** Ends the name of a copy that `tidegate compact` has not finished. */
export const COMPACT_SUFFIX = ".compact";
export const PAGE_BYTES = 4_096;

/** The log is merged into the file once it has this many pages (16 MiB). */
export const CHECKPOINT_PAGES = 4_000;
const CACHE_KIBIBYTES = 16_000;
/** A log larger than this (after one huge commit) is truncated at the next checkpoint. */
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

/** All tables are created together and never rebuilt, so the root page of each is fixed. */
const FIRST_ROOT_PAGE = 2;

/** The first format as SQLite stores it: root page and text of each table. */
export const SCHEMA_ROWS: readonly string[] = TABLES.map(
  (sql, index) => `${FIRST_ROOT_PAGE + index} ${sql}`,
);

/** Tables verified page by page at the start; bodies are verified as they are read (B3). */
export const VERIFIED_TABLES = ["block", "receipt", "dedup", "document", "meta"] as const;

export function createBrokerFile(folder: string): void {
  const path = join(folder, BROKER_FILE);
  const draft = `${path}.new`;
  removeDraft(draft);
  buildDatabase(draft, (database) => {
    database.exec(`
      PRAGMA page_size = ${PAGE_BYTES};
      PRAGMA auto_vacuum = NONE;
      PRAGMA journal_mode = WAL;
      PRAGMA application_id = ${APPLICATION_ID};
      BEGIN;
      ${TABLES.join(";\n")};
      INSERT INTO meta VALUES (1, 0, ${rowCheck(0)});
    `);
    addObjectTables(database);
    database.exec("COMMIT");
  });
  putInPlace(draft, path); // B1
}

/** How long a connection waits for another of this store that is opening or closing the file. */
const BUSY_MS = 5_000;

/** The writing connection; there is one, on its own thread. */
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
    // Proves that the folder is writable before the broker reports that it is ready.
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

/** A reading connection beside the writing one. */
export function openReader(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  database.exec(`PRAGMA cache_size = -${CACHE_KIBIBYTES}; PRAGMA temp_store = MEMORY`);
  return database;
}

/**
 * A connection that cannot change anything: no lock, no index file, no checkpoint when it closes.
 */
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
    // Node before 22.15 accepts no URLs as names. A normal connection reads the same, but merges
    // the log into the file when it closes, even if the file is then rejected.
    return new DatabaseSync(path);
  }
}
