// SQLite outbox: the outbox transitions over one file, which may also be the ledger's or a user's.
//   Q1. Writes are durable before they are answered: write-ahead log with synchronous=FULL.
//   Q2. One writer at a time: BEGIN IMMEDIATE takes the file's write lock before the first read.
//   Q3. As in the ledger: the log of an earlier process is renewed first, and so is the file after
//       a failure (healing.ts).

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import type { DurationMs, EpochMs } from "../../../core/units.ts";
import { type BatchRows, batchCalls } from "../../../ledger/outbox/batch-calls.ts";
import {
  type ChangeRows,
  outboxChanges,
  type RowTransition,
} from "../../../ledger/outbox/outbox-calls.ts";
import { createOutboxTaking } from "../../../ledger/outbox/outbox-lease.ts";
import { type PurgeTimes, stepRegister } from "../../../ledger/outbox/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../../ledger/record-state.ts";
import {
  type LedgerInstant,
  onCallersClock,
  purgeTimes,
  type StoreTimeOptions,
} from "../../../ledger/store-time.ts";
import type { Clock } from "../../../ports/clock.ts";
import type {
  Outbox,
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RegisterResult,
} from "../../../ports/outbox.ts";
import { Checkpoints } from "../checkpoints.ts";
import { createHealing, type OpenedStore } from "../healing.ts";
import { createDatabase, creatingTables, openForWriting, orClosed } from "../open-file.ts";
import { renewShared } from "../renew-log.ts";
import { requireUpgradable, upgradeFile, withBackup } from "../upgrade-file.ts";
import { SqliteBatchRows } from "./batch-rows.ts";
import { sqliteOutboxFault } from "./faults.ts";
import { OutboxRows } from "./outbox-rows.ts";
import {
  createSqliteFence,
  createSqliteTables,
  judgeFile,
  SQLITE_OUTBOX,
  schemaInFile,
} from "./schema.ts";
import { openTime } from "./time-marks.ts";
import { inSqliteTransaction } from "./transaction.ts";

export interface SqliteOutboxOptions extends StoreTimeOptions {
  readonly path: string;
  readonly retentionMs?: DurationMs;
  /** How long to wait for another process's transaction. Default: 5 s. */
  readonly busyMs?: DurationMs;
  /** Lets a test run checkpoints after fewer pages of log. */
  readonly checkpointPages?: number;
}

const BUSY_MS_DEFAULT = 5_000;
const NEWEST =
  "SELECT max(registered_at, coalesce(sent_at, 0)) AS at FROM tidegate_outbox ORDER BY seq DESC LIMIT 1";
/** Pages in the write-ahead log before they are folded into the file. */
const CHECKPOINT_PAGES = 1_000;
/** Rows per read while taking; leased rows are skipped. */
const TAKE_PAGE_ROWS = 256;

function openFile({ path, busyMs = BUSY_MS_DEFAULT as DurationMs }: SqliteOutboxOptions) {
  requireUpgradable(path, SQLITE_OUTBOX, busyMs); // M2 of schema.ts
  renewShared(path); // Q3
  createDatabase(path, (draft) => createSqliteTables(draft, SQLITE_OUTBOX));
  const db = openForWriting(path, busyMs);
  return orClosed(db, path, () => {
    try {
      judgeFile(db, SQLITE_OUTBOX, "write"); // M2 of schema.ts
    } catch (error) {
      throw withBackup(error, path, SQLITE_OUTBOX);
    }
    creatingTables(db, path, () => {
      createSqliteTables(db, SQLITE_OUTBOX);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // Q1
      upgradeFile(db, path, SQLITE_OUTBOX, { busyMs });
    });
    return db;
  });
}

/** Opens the outbox of a SQLite file; null if the file or the outbox in it does not exist. */
export function findSqliteOutbox(
  ports: { readonly clock: Clock },
  options: SqliteOutboxOptions,
): Outbox | null {
  const { path, busyMs = BUSY_MS_DEFAULT } = options;
  if (!existsSync(path)) return null;
  const exists = guard(path, () => {
    const db = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
    try {
      return schemaInFile(db, "outbox") !== null;
    } finally {
      db.close();
    }
  });
  return exists ? createSqliteOutbox(ports, options) : null;
}

/** Opens the outbox in a SQLite file; creates the file if it is missing. */
export function createSqliteOutbox(
  ports: { readonly clock: Clock },
  options: SqliteOutboxOptions,
): Outbox {
  return createHealing({
    open: (isFirst) => openOutbox(ports, isFirst ? options : { ...options, acceptClock: false }),
    faultOf: (error) => sqliteOutboxFault(error, options.path),
    isReader: false,
    direct: [],
    fileless: ["leap"],
  });
}

function openOutbox(
  ports: { readonly clock: Clock },
  options: SqliteOutboxOptions,
): OpenedStore<Outbox> {
  return guard(options.path, () => {
    const db = openFile(options);
    return orClosed(db, options.path, () => outboxIn(db, ports, options));
  });
}

function outboxIn(
  db: DatabaseSync,
  ports: { readonly clock: Clock },
  options: SqliteOutboxOptions,
): OpenedStore<Outbox> {
  const { path, retentionMs = RETENTION_MS_DEFAULT, acceptClock } = options;
  const { checkpointPages: pages = CHECKPOINT_PAGES } = options;
  const marks = openTime(db, "outbox", { clock: ports.clock, acceptClock }, NEWEST);
  const { time } = marks;
  const rows = new OutboxRows(db);
  const batches = new SqliteBatchRows(db);
  const checkpoints = new Checkpoints(db, { path, pages });
  const fence = createSqliteFence(db, SQLITE_OUTBOX);
  const read = <T>(work: () => T): T =>
    guard(path, () => {
      if (!db.isOpen) throw new TidegateError("TG_CLOSED", "the outbox is closed");
      return work();
    });
  const write = <T>(work: (at: LedgerInstant) => T): T =>
    read(() => {
      const change = () => {
        fence();
        marks.move(); // Q4 of ledger.ts
        return work(time.read());
      };
      return checkpoints.around(() => inSqliteTransaction(db, change)); // Q2
    });
  const change: ChangeRows = async (target, keys, transition) =>
    write(() => changeRows(rows, target, keys, transition));

  const store: Outbox = {
    async register(target, entries, lease) {
      const results = write((at) =>
        entries.map((entry) => register(rows, target, entry, { lease, at })),
      );
      return onCallersClock(results, time);
    },
    take: async (target, limit, lease) =>
      write(({ now }) => {
        const leased = findFree(rows, target, { limit, lease, now });
        for (const row of leased) rows.update(row);
        return leased;
      }),
    ...outboxChanges(change, time.now, retentionMs),
    sentNotDone: async (target, { sentBefore, afterSeq, limit }) =>
      read(() => rows.unsettled(target, afterSeq, sentBefore, limit)),
    find: async (target, key) => read(() => rows.find(target, key)),
    stats: async (target) => read(() => rows.stats(target)),
    purge: async (limit, sentBefore) =>
      write(() => purge({ rows, batches }, limit, purgeTimes(time, sentBefore))),
    ...batchCalls(batchRowsOf(batches, { read, write, time: () => time.read() }), retentionMs),
    leap: () => time.leap(),
    async close() {
      if (db.isOpen) checkpoints.close();
    },
  };
  return { store, failure: () => checkpoints.failure };
}

function changeRows(
  rows: OutboxRows,
  target: string,
  keys: readonly string[],
  transition: RowTransition,
): OutboxRow[] {
  const steps = keys.map((key) => transition(rows.find(target, key), key));
  const changed = steps.filter((row) => row !== null);
  for (const row of changed) rows.update(row);
  return changed;
}

function purge(
  { rows, batches }: { readonly rows: OutboxRows; readonly batches: SqliteBatchRows },
  limit: number,
  times: PurgeTimes,
): number {
  const purged = rows.purge(limit, times);
  return purged + batches.purge(limit - purged, times.now);
}

/** The batches of the file, each call in its own transaction. */
function batchRowsOf(
  batches: SqliteBatchRows,
  file: {
    read<T>(work: () => T): T;
    write<T>(work: (at: LedgerInstant) => T): T;
    time(): LedgerInstant;
  },
): BatchRows {
  const { read, write } = file;
  return {
    time: file.time,
    decide: async (target, name, step) =>
      write((at) => {
        const { save, result } = step(batches.find(target, name), at);
        if (save !== null) batches.save(target, save);
        return result;
      }),
    add: async (id, items, expiresAt) => write(() => batches.add(id, items, expiresAt)),
    open: async (id, page) => read(() => batches.open(id, page)),
    done: async (id, items) => write(() => batches.done(id, items)),
    countDone: async (id) => read(() => batches.countDone(id)),
    find: async (target, name) => read(() => batches.find(target, name)),
    list: async (target, page) => read(() => batches.list(target, page)),
  };
}

function register(
  rows: OutboxRows,
  target: string,
  entry: OutboxEntry,
  { lease, at }: { readonly lease: OutboxLease; readonly at: LedgerInstant },
): RegisterResult {
  const step = stepRegister(rows.find(target, entry.key), entry, lease, { ...at, seq: 0 });
  if (step.save === null) return step.result;
  if (step.fresh) return { kind: "taken", row: rows.insert(target, step.save) };
  rows.update(step.save);
  return step.result;
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
