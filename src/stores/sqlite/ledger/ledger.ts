// SQLite ledger: the record transitions over one file, for any number of processes on one computer.
//   Q1. Writes are durable before they are answered: write-ahead log with synchronous=FULL, one
//       sync per group of calls.
//   Q2. One writer at a time: BEGIN IMMEDIATE takes the file's write lock before the first read, so
//       the input of a transition is still true when its result is written.
//   Q3. Nothing is answered on top of a log that an earlier process left behind before the log is
//       renewed (renew-log.ts). The ledger runs its own checkpoints. When one fails, or a write, it
//       closes the file, and the next call renews it (healing.ts).
//   Q4. Without a server's clock, the newest certain instant is in the file (T3 of
//       ledger/store-time.ts). It moves with writes that happen anyway.

import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { TidegateError } from "../../../core/errors.ts";
import {
  runSinkWrites,
  type SinkValue,
  type SinkWrite,
  sinkParams,
} from "../../../core/sink-write.ts";
import type { DurationMs } from "../../../core/units.ts";
import { addMs } from "../../../core/units.ts";
import { checkRetention, checkScope } from "../../../ledger/batches.ts";
import { claimCommit } from "../../../ledger/fast-commit.ts";
import { hasRecordsCall } from "../../../ledger/has-records.ts";
import type { RecordItem, RunBatch } from "../../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../../ledger/ledger-calls.ts";
import { listCall } from "../../../ledger/list-records.ts";
import { noteCalls } from "../../../ledger/note-calls.ts";
import { appliedObject, objectOrder } from "../../../ledger/object-order.ts";
import type { RecordResult } from "../../../ledger/record-call.ts";
import { addsNote, stepCall } from "../../../ledger/record-call.ts";
import { decodeEntries, grownLog } from "../../../ledger/record-log.ts";
import {
  ABSENT,
  liveObject,
  liveRecord,
  RETENTION_MS_DEFAULT,
} from "../../../ledger/record-state.ts";
import { flatListCall, type ListFlatRecords } from "../../../ledger/rows/flat-records.ts";
import { runCalls } from "../../../ledger/runs.ts";
import { searchCall } from "../../../ledger/search-records.ts";
import {
  type LedgerInstant,
  type LedgerTime,
  onCallersClock,
  type StoreTimeOptions,
} from "../../../ledger/store-time.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Ledger } from "../../../ports/ledger.ts";
import type { Fence, LedgerScope } from "../../../ports/record.ts";
import type { SinkStore } from "../../../ports/sink.ts";
import type { Turn } from "../../../ports/turn.ts";
import { createHealing, type OpenedStore } from "../healing.ts";
import { createDatabase, creatingTables, openForWriting, orClosed } from "../open-file.ts";
import { renewShared } from "../renew-log.ts";
import { requireUpgradable, upgradeFile, withBackup } from "../upgrade-file.ts";
import { sqliteLedgerFault, sqliteSinkFault } from "./faults.ts";
import { GroupCommit } from "./group-commit.ts";
import type { TailLimits } from "./key-index.ts";
import { KeyIndex } from "./key-index.ts";
import { createSqliteUpkeep } from "./ledger-upkeep.ts";
import { listFlatRows, listSqliteRows } from "./list-rows.ts";
import { createSqliteNoteStore, NoteRows } from "./note-rows.ts";
import { openReadOnly } from "./open-read-only.ts";
import { RecordRows } from "./record-rows.ts";
import { createSqliteRunStore } from "./run-rows.ts";
import { createSqliteFence, createSqliteTables, judgeFile, SQLITE_LEDGER } from "./schema.ts";
import { readSinkRows } from "./sink-rows.ts";
import { StatementCache } from "./statement-cache.ts";
import { openTime } from "./time-marks.ts";

export interface SqliteLedgerOptions extends StoreTimeOptions {
  readonly path: string;
  readonly retentionMs?: DurationMs;
  /** Opens for reading only: creates and writes nothing. */
  readonly readOnly?: boolean;
  /** Whether to create a missing ledger; if false, it is an error. Default: true. */
  readonly create?: boolean;
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
const CACHE_KIB = 32_768;
/** A reader of lists uses the upper pages of a tree again, and hardly any of the others. */
const READER_CACHE_KIB = 8_192;
/** The last record is the newest, or nearly. */
const NEWEST = "SELECT max(seen_at, changed_at) AS at FROM ledger_record ORDER BY id DESC LIMIT 1";
/** Sink statements that stay prepared. */
const SINK_STATEMENTS_MAX = 256;

function noLedger(path: string): TidegateError {
  const message = `${path} contains no ledger; run \`tidegate ledger init\` first`;
  return new TidegateError("TG_CONFIG_INVALID", message);
}

function noFile(path: string): TidegateError {
  const message =
    `the ledger ${path} does not exist; check the data folder, or the URL of the ledger. ` +
    "A pipeline creates its ledger when it first runs, and `tidegate ledger init` creates one";
  return new TidegateError("TG_CONFIG_INVALID", message);
}

function openFile(options: SqliteLedgerOptions): DatabaseSync {
  const { path, readOnly = false, create = !readOnly, busyMs = BUSY_MS_DEFAULT } = options;
  if (!create && !existsSync(path)) throw noFile(path);
  if (!readOnly) {
    requireUpgradable(path, SQLITE_LEDGER, busyMs); // M2 of schema.ts
    renewShared(path); // Q3
    createDatabase(path, (draft) => createSqliteTables(draft, SQLITE_LEDGER));
  }
  const db = readOnly ? openReadOnly(path, busyMs) : openForWriting(path, busyMs);
  return orClosed(db, path, () => {
    const exists = existsIn(db, path, readOnly ? "read" : "write");
    if (!create && !exists) throw noLedger(path);
    db.exec(`PRAGMA cache_size = -${readOnly ? READER_CACHE_KIB : CACHE_KIB};`);
    if (readOnly) return db;
    creatingTables(db, path, () => {
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"); // Q1
      createSqliteTables(db, SQLITE_LEDGER);
      upgradeFile(db, path, SQLITE_LEDGER, { busyMs });
    });
    return db;
  });
}

/** Throws if this release may not use the ledger in the file (M2 of schema.ts). */
function existsIn(db: DatabaseSync, path: string, use: "read" | "write"): boolean {
  try {
    return judgeFile(db, SQLITE_LEDGER, use) !== "missing";
  } catch (error) {
    throw withBackup(error, path, SQLITE_LEDGER);
  }
}

/** A ledger in a file: what is read from it costs no wait. */
export interface SqliteLedger extends Ledger {
  readonly listFlat: ListFlatRecords;
}

/** Opens the ledger in a SQLite file; creates the file if it is missing. */
export function createSqliteLedger(
  ports: { readonly clock: Clock; readonly turn: Turn },
  options: SqliteLedgerOptions,
): SqliteLedger {
  checkRetention(options.retentionMs ?? RETENTION_MS_DEFAULT);
  return createHealing({
    open: (isFirst) => openLedger(ports, isFirst ? options : { ...options, acceptClock: false }),
    faultOf: (error) => sqliteLedgerFault(error, options.path),
    isReader: options.readOnly === true,
    direct: ["listFlat"],
    fileless: ["leap"],
  });
}

function openLedger(
  ports: { readonly clock: Clock; readonly turn: Turn },
  options: SqliteLedgerOptions,
): OpenedStore<SqliteLedger> {
  try {
    const db = openFile(options);
    return orClosed(db, options.path, () => ledgerIn(db, ports, options));
  } catch (error) {
    throw sqliteLedgerFault(error, options.path);
  }
}

function ledgerIn(
  db: DatabaseSync,
  ports: { readonly clock: Clock; readonly turn: Turn },
  options: SqliteLedgerOptions,
): OpenedStore<SqliteLedger> {
  const { path, retentionMs = RETENTION_MS_DEFAULT } = options;
  const index = new KeyIndex(db, options.tailLimits);
  const rows = new RecordRows(db, index);
  const group = new GroupCommit(db, index, ports.turn, {
    path,
    checkpointPages: options.checkpointPages ?? CHECKPOINT_PAGES,
    readOnly: options.readOnly === true,
    fence: options.readOnly === true ? () => undefined : createSqliteFence(db, SQLITE_LEDGER),
  });
  const notes = new NoteRows(db);
  const statements = new StatementCache(db, SINK_STATEMENTS_MAX);
  const { acceptClock } = options;
  const marks = openTime(db, "ledger", { clock: ports.clock, acceptClock }, NEWEST); // Q4
  const { time } = marks;
  const context: Context = { db, statements, rows, notes, retentionMs, path };
  const run: RunBatch = (scope, items) => {
    const alone = items.some(({ writes }) => writes.length > 0);
    const work = () => {
      marks.move(); // Q4
      return onCallersClock(runItems(context, scope, items, time.read()), time);
    };
    return group.submit(work, { alone });
  };
  const { look, ...upkeep } = createSqliteUpkeep({ db, marks, path, group });

  const store: SqliteLedger = {
    sinkDialect: "sqlite",
    sinkStore: createSinkStore(context, group),
    ...ledgerCalls(run, { takesWrites: true }),
    ...noteCalls(createSqliteNoteStore({ notes, rows, group, time, retentionMs, look })),
    ...upkeep,
    ...runCalls(
      createSqliteRunStore({ db, rows, group, time, retentionMs, look }),
      () => time.read().expiry,
    ),
    ...readCalls({ db, rows, index, time, look }),
  };
  return { store, failure: () => group.failure };
}

interface ReadParts {
  readonly db: DatabaseSync;
  readonly rows: RecordRows;
  readonly index: KeyIndex;
  readonly time: LedgerTime;
  readonly look: <T>(work: () => T) => T;
}

/** The calls that only read records and objects. */
function readCalls({ db, rows, index, time, look }: ReadParts) {
  const calls: Pick<
    SqliteLedger,
    "show" | "showObject" | "hasRecords" | "searchRecords" | "listRecords" | "listFlat"
  > = {
    listFlat: flatListCall(
      (scope, range) =>
        look(() => {
          const scopeId = rows.findScope(scope);
          return scopeId === null ? [] : listFlatRows(db, scopeId, range);
        }),
      () => time.read().expiry,
    ),
    ...listCall(
      async (scope, range) =>
        look(() => {
          const scopeId = rows.findScope(scope);
          return scopeId === null ? [] : listSqliteRows(db, scopeId, range);
        }),
      () => time.read().expiry,
    ),
    ...hasRecordsCall(async (scope, keys) =>
      look(() => {
        index.refresh();
        return rows.findLive(scope, keys, time.read().expiry);
      }),
    ),
    ...searchCall(async (scope, text, limit) =>
      look(() => {
        const scopeId = rows.findScope(scope);
        return scopeId === null ? [] : rows.search(scopeId, text, time.read().expiry, limit);
      }),
    ),
    async show(scope, key) {
      return look(() => {
        checkScope(scope);
        index.refresh();
        const scopeId = rows.findScope(scope);
        const stored = scopeId === null ? null : rows.find(scopeId, key);
        if (stored === null || liveRecord(stored.record, time.read().expiry).kind === "absent")
          return;
        const { record, input } = stored;
        return { key, record, input, entries: decodeEntries(stored.log) };
      });
    },
    async showObject(scope, bucket, key) {
      return look(() => {
        checkScope(scope);
        const scopeId = rows.findScope(scope);
        const object = scopeId === null ? null : rows.findObject(scopeId, bucket, key);
        return liveObject(object, time.read().expiry) ?? undefined;
      });
    },
  };
  return calls;
}

interface Context {
  readonly db: DatabaseSync;
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
  at: LedgerInstant,
): RecordResult[] {
  const { rows } = context;
  const scopeId = rows.openScope(scope);
  return rows.withPrefetched(scopeId, items, () =>
    items.map(
      (item) => commitFast(context, scopeId, item, at) ?? runItem(context, scopeId, item, at),
    ),
  );
}

/** The fast path for a commit whose object is in order; null means: take the slow path. */
function commitFast(
  context: Context,
  scopeId: number,
  item: RecordItem,
  at: LedgerInstant,
): RecordResult | null {
  const { key, call, object: ref } = item;
  if (call.call !== "commit" || ref?.confirmed !== undefined) return null;
  const { rows } = context;
  const expiresAt = addMs(at.now, context.retentionMs);
  const row = ref === null ? null : rows.findObject(scopeId, ref.bucket, ref.key);
  const order = objectOrder(ref, liveObject(row, at.expiry), { key, expiresAt });
  if (order.kind !== "unordered" && order.kind !== "newer" && order.kind !== "same") return null;
  const commit = claimCommit(key, call, at.now);
  if (!rows.commitClaim(scopeId, commit, { ...at, expiresAt })) return null;
  const applied = appliedObject(ref, order, { key, expiresAt });
  if (ref !== null && applied !== null) rows.putObject(scopeId, ref, applied);
  runWrites(context, item, call.fence);
  return { kind: "committed" };
}

function runItem(
  context: Context,
  scopeId: number,
  item: RecordItem,
  at: LedgerInstant,
): RecordResult {
  const { rows, notes, retentionMs } = context;
  const { key, object: ref, note, call } = item;
  const stored = rows.find(scopeId, key);
  const object = ref === null ? null : rows.findObject(scopeId, ref.bucket, ref.key);
  const record = stored?.record ?? ABSENT;
  const storedInput = stored?.input ?? null;
  const from = { key, record, storedInput, object, ref, ...at, retentionMs };
  const step = stepCall(from, call);
  if (step.record !== null && step.input !== null) {
    const log = grownLog(stored, step.entries, at.expiry);
    const saved = { record: step.record, input: step.input, log };
    if (stored === null) rows.insert(scopeId, key, saved);
    else rows.update(stored, saved);
    if (note !== null && addsNote(step)) notes.add(scopeId, note, { ...at, retentionMs });
    if (step.result.kind === "committed") runWrites(context, item, step.record.fence);
  }
  if (step.object !== null && ref !== null) rows.putObject(scopeId, ref, step.object);
  return step.result;
}

function runWrites(context: Context, { writes }: RecordItem, fence: Fence): void {
  if (writes.length === 0) return;
  try {
    runSinkWrites(writes, fence, (write, params) => runWrite(context, write, params));
  } catch (error) {
    throw sqliteSinkFault(error, context.path);
  }
}

/** Each call is one job of a group, so that other records commit in between. */
function createSinkStore(context: Context, group: GroupCommit): SinkStore {
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw sqliteSinkFault(error, context.path);
    }
  };
  const run = (write: SinkWrite, params: readonly SinkValue[]) => runWrite(context, write, params);
  return {
    run: (writes) =>
      group.submit(() => guarded(() => runSinkWrites(writes, 0, run)), { alone: true }),
    read: async ({ statement, params }) =>
      guarded(() => readSinkRows(context.db.prepare(statement), sinkParams({ params }, 0))),
  };
}

/** Runs one write of a sink; true if it returned a row. */
function runWrite(
  { db, statements }: Context,
  write: SinkWrite,
  params: readonly SinkValue[],
): boolean {
  const { statement: text, rows, once } = write;
  const statement = once === true ? db.prepare(text) : statements.get(text);
  if (rows === undefined) return statement.get(...params) !== undefined;
  for (const row of rows) statement.run(...params, ...row);
  return false;
}
