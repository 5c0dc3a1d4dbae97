// Open file: a connection to the SQLite file that has the name now. Another process may give the
// name to a new file (N6 of renew-log.ts) while this one is between opening and its first read,
// which is what keeps others from doing so.

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const OPENINGS_MAX = 5;

/** Opens a connection that reads; again, if the name has moved to another file meanwhile. */
export function openSettled(path: string, open: () => DatabaseSync): DatabaseSync {
  for (let count = 1; ; count += 1) {
    const before = identityOf(path);
    const database = open();
    if (before === null || before === identityOf(path) || count === OPENINGS_MAX) return database;
    database.close();
  }
}

export function openForWriting(path: string, timeout: number): DatabaseSync {
  return openSettled(path, () => {
    const database = new DatabaseSync(path, { timeout });
    try {
      database.prepare("PRAGMA user_version").get();
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

function identityOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}
