// Compact folder: gives the space of deleted messages and objects back to the disk.
//   C1. The folder is locked as by a broker: none can run or start meanwhile.
//   C2. The live rows are copied into a new file, which is verified and synced before it takes the
//       old file's name. Until then the old file is complete: a crash at any step loses nothing,
//       and the next start deletes the unfinished copy.
//   C3. The old log is folded, deleted, and durably gone before the rename: SQLite would apply it
//       to the new file.
//   C4. A copy has its tables on other pages, so it gets a new record of them (O2 of
//       object-schema.ts).

import { existsSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { refuseConfig } from "../../../core/errors.ts";
import {
  type CompactProgress,
  type CompactReport,
  compactFault,
  fileInUse,
  liveBytesOf,
  putCompactInPlace,
  requireSpace,
} from "../compact-file.ts";
import { isInUse, renewLog } from "../renew-log.ts";
import { removeDraft } from "../replace-file.ts";
import { BROKER_FILE, COMPACT_SUFFIX, formatOf, openVerifier } from "./broker-schema.ts";
import { verifyTables } from "./broker-snapshot.ts";
import { checkBrokerFiles, corrupt } from "./file-check.ts";
import { lockFolder } from "./folder-lock.ts";
import { OBJECT_SCHEMA_VERSION, recordObjectRoots } from "./object-schema.ts";
import { releaseReserve } from "./reserve.ts";

/** Compacts the data file in `folder`; throws TG_STORE_LOCKED while a broker runs on it. */
export function compactBrokerFolder(folder: string, onProgress: CompactProgress): CompactReport {
  const named = join(folder, BROKER_FILE);
  if (!existsSync(named)) {
    refuseConfig(`${folder} contains no data of an embedded cloud`);
  }
  const lock = lockFolder(folder); // C1
  try {
    return compactLocked(folder, realpathSync(named), onProgress);
  } catch (error) {
    throw compactFault(error, named);
  } finally {
    lock.release();
  }
}

function compactLocked(folder: string, path: string, onProgress: CompactProgress): CompactReport {
  const beforeBytes = statSync(path).size;
  checkBrokerFiles(path);
  const log = renewLog(path);
  if (log === "in-use" || isInUse(path)) throw fileInUse(path);
  const draft = `${path}${COMPACT_SUFFIX}`;
  removeDraft(draft);
  try {
    const liveBytes = verifiedLiveBytes(path);
    releaseReserve(folder); // The next start takes it again.
    requireSpace(path, liveBytes);
    onProgress(path, liveBytes);
    copyLive(path, draft);
    putCompactInPlace(draft, path); // C2, C3
  } catch (error) {
    removeDraft(draft);
    throw error;
  }
  return { path, beforeBytes, afterBytes: statSync(path).size };
}

function verifiedLiveBytes(path: string): number {
  return reading(path, (database) => {
    verifyTables(database, path);
    return liveBytesOf(database);
  });
}

/** Copies the live rows, and compares their numbers. */
function copyLive(path: string, draft: string): void {
  const before = reading(path, (database) => {
    database.prepare("VACUUM INTO ?").run(draft);
    return rowCounts(database);
  });
  const copy = new DatabaseSync(draft);
  try {
    if (formatOf(copy) >= OBJECT_SCHEMA_VERSION) recordObjectRoots(copy); // C4
    copy.exec("PRAGMA journal_mode = WAL");
  } finally {
    copy.close();
  }
  const after = reading(draft, (database) => {
    verifyTables(database, draft);
    return rowCounts(database);
  });
  if (after !== before) throw corrupt(path, `its copy has ${after}, and not ${before}`);
}

function rowCounts(database: DatabaseSync): string {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const counts = tables.map(({ name }) => {
    const row = database.prepare(`SELECT count(*) AS rows FROM "${name}"`).get();
    return `${row?.rows} rows of ${name}`;
  });
  return counts.join(", ");
}

function reading<T>(path: string, read: (database: DatabaseSync) => T): T {
  const database = openVerifier(path);
  try {
    return read(database);
  } finally {
    database.close();
  }
}
