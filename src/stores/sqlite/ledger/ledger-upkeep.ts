// Ledger upkeep: counts, purges and closes a SQLite ledger.

import type { DatabaseSync } from "node:sqlite";
import { scopeStatsOf } from "../../../ledger/scope-stats.ts";
import { type LedgerTime, leapProblems } from "../../../ledger/store-time.ts";
import type { ScopeStats } from "../../../ports/ledger.ts";
import { sqliteLedgerFault } from "./faults.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { MarkedTime } from "./time-marks.ts";

export interface SqliteUpkeepParts {
  readonly db: DatabaseSync;
  readonly marks: MarkedTime;
  readonly path: string;
  readonly group: GroupCommit;
}

const STATS = `
  SELECT pipeline, generation,
    (SELECT count(*) FROM ledger_object AS o
      WHERE o.scope = s.id AND o.expires_at > :now) AS objects,
    count(*) FILTER (WHERE r.state = 'claimed') AS claimed,
    count(*) FILTER (WHERE r.state = 'released') AS released,
    count(*) FILTER (WHERE r.state = 'failed') AS failed,
    count(*) FILTER (WHERE r.state = 'committed') AS committed,
    count(*) FILTER (WHERE r.state = 'parked') AS parked
  FROM ledger_scope AS s LEFT JOIN ledger_record AS r ON r.scope = s.id AND r.expires_at > :now
  GROUP BY s.id HAVING count(r.id) + objects > 0 ORDER BY pipeline, generation`;

/** Rows read per row to delete. Records are stored by age, so expired ones come first. */
const LOOK_PER_PURGE = 4;

function createPurge(db: DatabaseSync, time: LedgerTime): (limit: number) => number {
  /** Where the next purge continues; each reads a bounded number of rows. */
  let purgedTo = 0;
  let objectsPurgedTo: [number, string, string] = [0, "", ""];

  function purgeRecords(limit: number): number {
    const { expiry } = time.read();
    const rows = db
      .prepare("SELECT id, hash, expires_at FROM ledger_record WHERE id > ? ORDER BY id LIMIT ?")
      .all(purgedTo, limit * LOOK_PER_PURGE);
    const last = Number(db.prepare("SELECT max(id) AS id FROM ledger_record").get()?.id ?? 0);
    const dropRow = db.prepare("DELETE FROM ledger_record WHERE id = ?");
    const dropKey = db.prepare("DELETE FROM ledger_key WHERE hash = ? AND id = ?");
    let purged = 0;
    for (const { id, hash, expires_at: expiresAt } of rows) {
      if (purged === limit) return purged;
      purgedTo = Number(id);
      // The newest row stays: its id must not be reused (X2 of key-index.ts).
      if (Number(expiresAt) > expiry || id === last) continue;
      dropRow.run(Number(id));
      dropKey.run(Number(hash), Number(id));
      purged += 1;
    }
    if (rows.length < limit * LOOK_PER_PURGE) purgedTo = 0;
    return purged;
  }

  function purgeObjects(limit: number): number {
    const { expiry } = time.read();
    const rows = db
      .prepare(`SELECT scope, bucket, key, expires_at FROM ledger_object
        WHERE (scope, bucket, key) > (?, ?, ?) ORDER BY scope, bucket, key LIMIT ?`)
      .all(...objectsPurgedTo, limit * LOOK_PER_PURGE);
    const drop = db.prepare("DELETE FROM ledger_object WHERE scope = ? AND bucket = ? AND key = ?");
    let purged = 0;
    for (const row of rows) {
      if (purged === limit) return purged;
      objectsPurgedTo = [Number(row.scope), String(row.bucket), String(row.key)];
      if (Number(row.expires_at) > expiry) continue;
      drop.run(...objectsPurgedTo);
      purged += 1;
    }
    if (rows.length < limit * LOOK_PER_PURGE) objectsPurgedTo = [0, "", ""];
    return purged;
  }

  const purgeNotes = createNotePurge(db, time);
  // Runs are few: one per process life.
  const dropRuns = db.prepare(`DELETE FROM ledger_run WHERE (scope, id) IN
    (SELECT scope, id FROM ledger_run WHERE expires_at <= ? LIMIT ?)`);
  const purgeRuns = (limit: number) => Number(dropRuns.run(time.read().expiry, limit).changes);
  return (limit) => {
    let purged = 0;
    for (const purge of [purgeRecords, purgeObjects, purgeNotes, purgeRuns]) {
      if (purged < limit) purged += purge(limit - purged);
    }
    return purged;
  };
}

/** Notes are stored by age as well, but any of them may have been extended. */
function createNotePurge(db: DatabaseSync, time: LedgerTime): (limit: number) => number {
  let purgedTo = 0;
  return (limit) => {
    const { expiry } = time.read();
    const rows = db
      .prepare("SELECT id, expires_at FROM ledger_note WHERE id > ? ORDER BY id LIMIT ?")
      .all(purgedTo, limit * LOOK_PER_PURGE);
    const drop = db.prepare("DELETE FROM ledger_note WHERE id = ?");
    let purged = 0;
    for (const { id, expires_at: expiresAt } of rows) {
      if (purged === limit) return purged;
      purgedTo = Number(id);
      if (Number(expiresAt) > expiry) continue;
      drop.run(purgedTo);
      purged += 1;
    }
    if (rows.length < limit * LOOK_PER_PURGE) purgedTo = 0;
    return purged;
  };
}

export function createSqliteUpkeep({ db, marks, path, group }: SqliteUpkeepParts) {
  const { time } = marks;
  const purge = createPurge(db, time);

  function look<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw sqliteLedgerFault(error, path);
    }
  }

  return {
    look,
    async stats(): Promise<ScopeStats[]> {
      const rows = look(() => db.prepare(STATS).all({ now: time.read().expiry }));
      return rows.map(scopeStatsOf);
    },
    purge: (limit: number): Promise<number> => {
      const work = () => {
        marks.move();
        return purge(limit);
      };
      return group.submit(work, { alone: false });
    },
    leap: () => time.leap(),
    async check(): Promise<string[]> {
      return look(() => {
        const problems: string[] = [];
        const journal = db.prepare("PRAGMA journal_mode").get()?.journal_mode;
        if (journal !== "wal") problems.push(`The journal mode is ${journal}, not wal.`);
        for (const row of db.prepare("PRAGMA quick_check(10)").all()) {
          if (row.quick_check !== "ok") problems.push(`The file is damaged: ${row.quick_check}.`);
        }
        return [...problems, ...leapProblems(time.leap())];
      });
    },
    async close(): Promise<void> {
      if (!db.isOpen) return;
      group.close();
    },
  };
}
