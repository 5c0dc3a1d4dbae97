// SQLite ledger: the record transitions over one file, for any number of processes on one computer.
//   Q1. Writes are durable before they are answered: write-ahead log with synchronous=FULL, one
//       sync per group of calls.
//   Q2. One writer at a time: BEGIN IMMEDIATE takes the file's write lock before the first read, so
//       the input of a transition is still true when its result is written.
//   Q3. Nothing is answered on top of a log that an earlier process left behind before the log is
//       renewed (renew-log.ts). The ledger runs its own checkpoints, and stops when one fails.

import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import { sinkParams } from "../../../core/sink-write.ts";
import type { DurationMs, EpochMs } from "../../../core/units.ts";
import { addMs } from "../../../core/units.ts";
import { checkRetention, checkScope } from "../../../ledger/batches.ts";
import { fastCommit } from "../../../ledger/fast-commit.ts";
import type { RecordItem, RunBatch } from "../../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../../ledger/ledger-calls.ts";
import { noteCalls } from "../../../ledger/note-calls.ts";
import type { RecordResult } from "../../../ledger/record-call.ts";
import { stepCall } from "../../../ledger/record-call.ts";
import { decodeEntries, grownLog } from "../../../ledger/record-log.ts";
import {
  ABSENT,
  liveObject,
  liveRecord,
  RETENTION_MS_DEFAULT,
} from "../../../ledger/record-state.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Ledger } from "../../../ports/ledger.ts";
import type { Fence, LedgerScope } from "../../../ports/record.ts";
import type { Turn } from "../../../ports/turn.ts";
import { renewLog } from "../renew-log.ts";
import { sqliteLedgerFault, sqliteSinkFault } from "./faults.ts";
import { GroupCommit } from "./group-commit.ts";
import type { TailLimits } from "./key-index.ts";
import { KeyIndex } from "./key-index.ts";
import { createSqliteUpkeep } from "./ledger-upkeep.ts";
import { createSqliteNoteStore, NoteRows } from "./note-rows.ts";
import { RecordRows } from "./record-rows.ts";
import { migrateSqlite, missingSqliteMigrations, SQLITE_LEDGER_MIGRATIONS } from "./schema.ts";
import { StatementCache } from "./statement-cache.ts";

export interface SqliteLedgerOptions {
  readonly path: string;
  readonly retentionMs?: DurationMs;
  /** Opens for reading only: creates, migrates and writes nothing. */
  readonly readOnly?: boolean;
  /** Rejects a file without a ledger of this version, instead of creating one. */
  readonly mustExist?: boolean;
  /** How long to wait for another process's transaction. Default: 5 s. */
  readonly busyMs?: DurationMs;
  /** Lets a test run checkpoints after fewer pages of log. */
  readonly checkpointPages?: number;
  /** How many keys the index keeps in memory before it writes them in sorted order. */
  readonly tailLimits?: TailLimits;
}

/** The wait blocks the event loop, so it must stay well under any lease. */
const BUSY_MS_DEFAULT = 5_000;
/** Pages in the write-ahead log before SQLite copies them back: fewer, larger copies. */
const CHECKPOINT_PAGES = 8_192;
const CACHE_KIB = 65_536;
/** Sink statements that stay prepared. */
const SINK_STATEMENTS_MAX = 256;

function noLedger(path: string): TidegateError {
  const message = `${path} contains no ledger of this version; run \`tidegate ledger init\` first`;
  return new TidegateError("TG_CONFIG_INVALID", message);
}

function openFile(options: SqliteLedgerOptions): DatabaseSync {
  const { path, readOnly = false, mustExist = readOnly, busyMs = BUSY_MS_DEFAULT } = options;
  if (mustExist && !existsSync(path)) throw noLedger(path);
  if (!readOnly) renewLog(path); // Q3
  const db = new DatabaseSync(path, { readOnly, timeout: busyMs });
  try {
    // A newer file is rejected unchanged (M3).
    const missing = missingSqliteMigrations(db, "ledger", SQLITE_LEDGER_MIGRATIONS).length;
    if (mustExist && missing > 0) throw noLedger(path);
    if (readOnly) return db;
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // Q1
    db.exec(`PRAGMA cache_size = -${CACHE_KIB};`);
    migrateSqlite(db, "ledger", SQLITE_LEDGER_MIGRATIONS);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens the ledger in a SQLite file; creates the file if it is missing. */
export function createSqliteLedger(
  ports: { readonly clock: Clock; readonly turn: Turn },
  options: SqliteLedgerOptions,
): Ledger {
  const { clock } = ports;
  const { path, retentionMs = RETENTION_MS_DEFAULT } = options;
  checkRetention(retentionMs);
  const { db, index } = openIndexed(options);
  const rows = new RecordRows(db, index);
  const group = new GroupCommit(db, index, ports.turn, {
    path,
    checkpointPages: options.checkpointPages ?? CHECKPOINT_PAGES,
  });
  const notes = new NoteRows(db);
  const statements = new StatementCache(db, SINK_STATEMENTS_MAX);
  const context: Context = { statements, rows, notes, retentionMs, path };
  const run: RunBatch = (scope, items) => {
    const alone = items.some(({ writes }) => writes.length > 0);
    return group.submit(() => runItems(context, scope, items, clock.now()), { alone });
  };
  const { look, ...upkeep } = createSqliteUpkeep({ db, clock, path, group });

  return {
    sinkDialect: "sqlite",
    ...ledgerCalls(run, { takesWrites: true }),
    ...noteCalls(createSqliteNoteStore({ notes, rows, group, clock, retentionMs, look })),
    ...upkeep,
    async show(scope, key) {
      return look(() => {
        checkScope(scope);
        index.refresh();
        const scopeId = rows.findScope(scope);
        const stored = scopeId === null ? null : rows.find(scopeId, key);
        if (stored === null || liveRecord(stored.record, clock.now()).kind === "absent") return;
        return { key, record: stored.record, entries: decodeEntries(stored.log) };
      });
    },
    async showObject(scope, bucket, key) {
      return look(() => {
        checkScope(scope);
        const scopeId = rows.findScope(scope);
        const object = scopeId === null ? null : rows.findObject(scopeId, bucket, key);
        return liveObject(object, clock.now()) ?? undefined;
      });
    },
  };
}

/** Opens the file and its index; closes the file if the index cannot be read. */
function openIndexed(options: SqliteLedgerOptions): { db: DatabaseSync; index: KeyIndex } {
  let db: DatabaseSync | undefined;
  try {
    db = openFile(options);
    return { db, index: new KeyIndex(db, options.tailLimits) };
  } catch (error) {
    db?.close();
    throw sqliteLedgerFault(error, options.path);
  }
}

interface Context {
  /** Sink statements; a sink has few and uses them for every record. */
  readonly statements: StatementCache;
  readonly rows: RecordRows;
  readonly notes: NoteRows;
  readonly retentionMs: DurationMs;
  readonly path: string;
}

function runItems(
  context: Context,
  scope: LedgerScope,
  items: readonly RecordItem[],
  now: EpochMs,
): RecordResult[] {
  const scopeId = context.rows.openScope(scope);
  return items.map(
    (item) => commitFast(context, scopeId, item, now) ?? runItem(context, scopeId, item, now),
  );
}

/** The fast path for a commit without object or note; null means: take the slow path. */
function commitFast(
  context: Context,
  scopeId: number,
  item: RecordItem,
  now: EpochMs,
): RecordResult | null {
  const commit = fastCommit(item, now);
  if (commit === null) return null;
  const times = { now, expiresAt: addMs(now, context.retentionMs) };
  return context.rows.commitClaim(scopeId, commit, times) ? { kind: "committed" } : null;
}

function runItem(context: Context, scopeId: number, item: RecordItem, now: EpochMs): RecordResult {
  const { rows, notes, retentionMs } = context;
  const { key, object: ref, note, call } = item;
  const stored = rows.find(scopeId, key);
  const object = ref === null ? null : rows.findObject(scopeId, ref.bucket, ref.key);
  const record = stored?.record ?? ABSENT;
  const sequencer = ref?.sequencer ?? null;
  const step = stepCall({ key, record, object, sequencer, now, retentionMs }, call);
  if (step.record !== null) {
    const log = grownLog(stored, step.entries, now);
    if (stored === null) rows.insert(scopeId, key, step.record, log);
    else rows.update(stored.id, step.record, log);
    if (note !== null) notes.add(scopeId, note, { now, retentionMs });
    if (step.result.kind === "committed") runWrites(context, item, step.record.fence);
  }
  if (step.object !== null && ref !== null) rows.putObject(scopeId, ref, step.object);
  return step.result;
}

function runWrites({ statements, path }: Context, { writes }: RecordItem, fence: Fence): void {
  for (const write of writes) {
    try {
      statements.get(write.statement).run(...sinkParams(write, fence));
    } catch (error) {
      throw sqliteSinkFault(error, path);
    }
  }
}
