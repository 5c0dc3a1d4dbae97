// Naive ledger: the obvious first version: one table by key, a transaction to claim, another to
// commit. It runs beside Tidegate's ledgers in the same minute, so that ratios are comparable.

import { DatabaseSync } from "node:sqlite";

export interface NaiveLedger {
  claim(keys: readonly string[]): void;
  commit(keys: readonly string[], digest: string): void;
  close(): void;
}

export function createNaiveLedger(path: string): NaiveLedger {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536");
  db.exec(`CREATE TABLE record (key TEXT PRIMARY KEY, state TEXT, owner TEXT, fence INTEGER,
    lease_until INTEGER, digest TEXT)`);
  const find = db.prepare("SELECT state, fence, lease_until FROM record WHERE key = ?");
  const insert = db.prepare("INSERT INTO record VALUES (?, 'claimed', 'w', 1, ?, NULL)");
  const update = db.prepare(
    "UPDATE record SET state = 'committed', digest = ? WHERE key = ? AND fence = 1",
  );
  const inTransaction = (work: () => void) => {
    db.exec("BEGIN IMMEDIATE");
    work();
    db.exec("COMMIT");
  };
  return {
    claim: (keys) =>
      inTransaction(() => {
        for (const key of keys) if (find.get(key) === undefined) insert.run(key, Date.now());
      }),
    commit: (keys, digest) =>
      inTransaction(() => {
        for (const key of keys) update.run(digest, key);
      }),
    close: () => db.close(),
  };
}
