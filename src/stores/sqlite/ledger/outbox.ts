// SQLite outbox: the outbox transitions over one file, which may also be the ledger's or a user's.
//   Q1. Writes are durable before they are answered: write-ahead log with synchronous=FULL.
//   Q2. One writer at a time: BEGIN IMMEDIATE takes the file's write lock before the first read.
//   Q3. As in the ledger: the log of an earlier process is renewed first, and a checkpoint that
//       fails stops the outbox.

import { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../../core/units.ts";
import { type ChangeRows, outboxChanges } from "../../../ledger/outbox-calls.ts";
import { createOutboxTaking } from "../../../ledger/outbox-lease.ts";
import { stepRegister } from "../../../ledger/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../../ledger/record-state.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Outbox, OutboxLease, OutboxRow, RegisterResult } from "../../../ports/outbox.ts";
import { Checkpoints } from "../checkpoints.ts";
import { renewLog } from "../renew-log.ts";
import { sqliteOutboxFault } from "./faults.ts";
import { OutboxRows } from "./outbox-rows.ts";
import { migrateSqlite, SQLITE_OUTBOX_MIGRATIONS } from "./schema.ts";
import { inSqliteTransaction } from "./transaction.ts";

export interface SqliteOutboxOptions {
  readonly path: string;
  readonly retentionMs?: DurationMs;
  /** How long to wait for another process's transaction. Default: 5 s. */
  readonly busyMs?: DurationMs;
}

const BUSY_MS_DEFAULT = 5_000;
/** Pages in the write-ahead log before they are folded into the file. */
const CHECKPOINT_PAGES = 1_000;
/** Rows per read while taking; leased rows are skipped. */
const TAKE_PAGE_ROWS = 256;

function openFile({ path, busyMs = BUSY_MS_DEFAULT as DurationMs }: SqliteOutboxOptions) {
  renewLog(path); // Q3
  const db = new DatabaseSync(path, { timeout: busyMs });
  try {
    // Rejects a newer file before changing it.
    migrateSqlite(db, "outbox", SQLITE_OUTBOX_MIGRATIONS);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // Q1
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens the outbox in a SQLite file; creates the file if it is missing. */
export function createSqliteOutbox(
  ports: { readonly clock: Clock },
  options: SqliteOutboxOptions,
): Outbox {
  const { clock } = ports;
  const { path, retentionMs = RETENTION_MS_DEFAULT } = options;
  const db = guard(path, () => openFile(options));
  const rows = new OutboxRows(db);
  const checkpoints = new Checkpoints(db, { path, pages: CHECKPOINT_PAGES });
  const read = <T>(work: () => T): T =>
    guard(path, () => {
      if (!db.isOpen) throw new TidegateError("TG_CLOSED", "the outbox is closed");
      return work();
    });
  const write = <T>(work: (now: EpochMs) => T): T =>
    read(() => {
      checkpoints.check();
      const value = inSqliteTransaction(db, () => work(clock.now())); // Q2
      checkpoints.afterCommit();
      return value;
    });
  const change: ChangeRows = async (target, keys, transition) =>
    write(() => {
      const steps = keys.map((key) => transition(rows.find(target, key), key));
      const changed = steps.filter((row) => row !== null);
      for (const row of changed) rows.update(row);
      return changed;
    });

  return {
    async register(target, entries, lease) {
      return write((now) =>
        entries.map((entry): RegisterResult => {
          const step = stepRegister(rows.find(target, entry.key), entry, lease, { now, seq: 0 });
          if (step.save === null) return step.result;
          if (step.fresh) return { kind: "taken", row: rows.insert(target, step.save) };
          rows.update(step.save);
          return step.result;
        }),
      );
    },
    take: async (target, limit, lease) =>
      write((now) => {
        const leased = findFree(rows, target, { limit, lease, now });
        for (const row of leased) rows.update(row);
        return leased;
      }),
    ...outboxChanges(change, clock.now, retentionMs),
    unsettled: async (target, { sentBefore, afterSeq, limit }) =>
      read(() => rows.unsettled(target, afterSeq, sentBefore, limit)),
    find: async (target, key) => read(() => rows.find(target, key)),
    stats: async (target) => read(() => rows.stats(target)),
    purge: async (limit) => write((now) => rows.purge(now, limit)),
    async close() {
      if (db.isOpen) checkpoints.close();
    },
  };
}

/** The oldest rows that may be sent now, leased; skips later rows of a leased group. */
function findFree(
  rows: OutboxRows,
  target: string,
  wanted: { readonly limit: number; readonly lease: OutboxLease; readonly now: EpochMs },
): OutboxRow[] {
  const { limit, lease, now } = wanted;
  const taking = createOutboxTaking(lease, now);
  const free: OutboxRow[] = [];
  let afterSeq = 0;
  for (;;) {
    const page = rows.pending(target, afterSeq, TAKE_PAGE_ROWS);
    for (const row of page) {
      afterSeq = row.seq;
      const leased = taking.offer(row);
      if (leased !== null) free.push(leased);
      if (free.length >= limit) return free;
    }
    if (page.length < TAKE_PAGE_ROWS) return free;
  }
}

function guard<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteOutboxFault(error, path);
  }
}
