// Consistent cut: one instant of all databases of a data folder, while a cloud and pipelines use
// them. Ledger and broker depend on each other in both directions:
//   - a consumer deletes a message only after its ledger says committed, parked or held;
//   - a ledger or outbox says "sent" only after the broker has accepted the message.
// If the broker were copied first, a message that was sent meanwhile could be missing although the
// ledger says that it was sent. If the ledger were copied first, a deleted message could be missing
// although the copied ledger does not know its commit. So neither order is enough.
//   U1. Every database except the broker's is locked for writing while all snapshots are taken. The
//       ledger therefore stands still, and the broker's snapshot lies within that time. Whatever a
//       ledger says had reached the broker before; whatever the broker has forgotten, a ledger had
//       recorded before.
//   U2. A snapshot is a read transaction: the locks last for milliseconds, and the copies, which
//       take longer, read the snapshots. Writers continue beside them.
//   U3. Locks are taken in the order of the names, and released together if one is not available,
//       even if one of them cannot be closed as it should.
//   U4. Only SQLite opens files that may be databases. Closing another descriptor of such a file,
//       or of its index, would drop the locks that this process has on it.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { BROKER_FILE, COMPACT_SUFFIX, formatOf } from "../broker/broker-schema.ts";
import { LOCK_FILE } from "../broker/folder-lock.ts";
import { OBJECT_SCHEMA_VERSION } from "../broker/object-schema.ts";
import { closeUnfolded } from "../renew-log.ts";
import { isNoDatabase } from "../sqlite-code.ts";
import { UPGRADE_BACKUP_SUFFIX } from "../upgrade-file.ts";

/** How long a writer may hold a database before the backup gives up. */
const LOCK_MS_MAX = 10_000;
const LEFTOVERS = [".new", COMPACT_SUFFIX, UPGRADE_BACKUP_SUFFIX];
/** End the names of files that SQLite and fold-mark.ts keep beside a database. */
const COMPANIONS = ["-wal", "-shm", "-journal", "-folding", "-failed"];

export interface PinnedDatabase {
  /** The name of the file in the data folder. */
  readonly name: string;
  /** Reads the snapshot until the cut is released. */
  readonly reader: DatabaseSync;
}

export interface ConsistentCut {
  readonly databases: readonly PinnedDatabase[];
  /** Ids of the blobs that the broker's snapshot refers to. */
  readonly blobs: readonly string[];
  release(): void;
}

/** The SQLite files of a folder, by name. */
export function databasesIn(folder: string): string[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map(({ name }) => name);
  const beside = new Set(names.flatMap((name) => COMPANIONS.map((suffix) => `${name}${suffix}`)));
  return names
    .filter((name) => name !== LOCK_FILE && !beside.has(name)) // U4
    .filter((name) => !LEFTOVERS.some((suffix) => name.endsWith(suffix)))
    .filter((name) => isDatabase(join(folder, name)))
    .toSorted();
}

/** U4; a database that cannot be read now is one, and the cut reports why. */
function isDatabase(path: string): boolean {
  const stats = statSync(path);
  if (!stats.isFile() || stats.size === 0) return false;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    database.prepare("PRAGMA schema_version").get();
    return true;
  } catch (error) {
    return !isNoDatabase(error);
  } finally {
    database?.close();
  }
}

/** Takes the snapshots (U1). */
export function takeCut(folder: string, names: readonly string[]): ConsistentCut {
  const readers: PinnedDatabase[] = [];
  const release = () => {
    for (const { reader } of readers.splice(0)) reader.close();
  };
  const locks: PinnedDatabase[] = [];
  const errors: unknown[] = [];
  const attempt = (work: () => void) => {
    try {
      work();
    } catch (error) {
      errors.push(error);
    }
  };
  attempt(() => {
    for (const name of names) {
      if (name === BROKER_FILE) continue;
      const lock = new DatabaseSync(join(folder, name), { timeout: LOCK_MS_MAX });
      locks.push({ name, reader: lock });
      lock.exec("BEGIN IMMEDIATE"); // U1, U3
    }
    for (const name of names) readers.push({ name, reader: pin(join(folder, name)) }); // U2
  });
  // U3; the last one to close must not fold: a backup changes nothing.
  for (const { name, reader } of locks) attempt(() => closeUnfolded(reader, join(folder, name)));
  if (errors.length > 0) {
    release();
    throw errors[0];
  }
  const broker = readers.find(({ name }) => name === BROKER_FILE);
  const blobs = broker === undefined ? [] : blobsIn(broker.reader);
  return { databases: [...readers], blobs, release };
}

function pin(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { readOnly: true, timeout: LOCK_MS_MAX });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM sqlite_schema").get(); // The first read takes the snapshot.
  return reader;
}

function blobsIn(broker: DatabaseSync): string[] {
  if (formatOf(broker) < OBJECT_SCHEMA_VERSION) return [];
  return broker
    .prepare("SELECT id FROM blob")
    .all()
    .map(({ id }) => String(id));
}
