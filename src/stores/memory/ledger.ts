// Memory ledger: the record transitions over three maps. For tests, simulations and pipelines that
// may lose their state.

import { TidegateError } from "../../core/errors.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { checkRetention, checkScope } from "../../ledger/batches.ts";
import { hasRecordsCall } from "../../ledger/has-records.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { listCall } from "../../ledger/list-records.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { StoredNote } from "../../ledger/notes.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { addsNote, stepCall } from "../../ledger/record-call.ts";
import { decodeEntries, grownLog } from "../../ledger/record-log.ts";
import { ABSENT, liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { runCalls, type StoredRun } from "../../ledger/runs.ts";
import { compareScopes, noCounts } from "../../ledger/scope-stats.ts";
import { namesOf, searchCall } from "../../ledger/search-records.ts";
import {
  type LedgerInstant,
  type LedgerTime,
  onCallersClock,
  StoreTime,
  type StoreTimeOptions,
} from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, ScopeStats } from "../../ports/ledger.ts";
import type {
  Fence,
  LedgerScope,
  LogEntry,
  ObjectState,
  RecordInput,
  RecordKey,
  StoredRecord,
} from "../../ports/record.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { listMemoryRows } from "./list-rows.ts";
import { addNote, createMemoryNoteStore } from "./note-rows.ts";
import { createMemoryRunStore } from "./run-rows.ts";

interface Row {
  readonly record: StoredRecord;
  readonly input: RecordInput;
  readonly log: string;
}

interface ScopeRows {
  readonly scope: LedgerScope;
  readonly records: Map<RecordKey, Row>;
  readonly objects: Map<string, ObjectState>;
  readonly notes: Map<string, StoredNote>;
  readonly runs: Map<string, StoredRun>;
}

export interface MemoryLedgerOptions extends StoreTimeOptions {
  readonly retentionMs?: DurationMs;
  /** Runs the writes of commits, in the same step; without it, commits may not contain writes. */
  readonly writes?: {
    readonly dialect: "sqlite" | "postgres";
    readonly run: (writes: readonly SinkWrite[], of: { key: RecordKey; fence: Fence }) => void;
    /** For a sink's work outside of commits. */
    readonly store?: SinkStore;
  };
}

type RunWrites = NonNullable<MemoryLedgerOptions["writes"]>["run"] | undefined;

/** Creates a ledger that lives as long as its process. */
export function createMemoryLedger(
  ports: { readonly clock: Clock; readonly time?: LedgerTime },
  options: MemoryLedgerOptions = {},
): Ledger {
  const { clock, time = new StoreTime(clock, options) } = ports;
  const { retentionMs = RETENTION_MS_DEFAULT, writes } = options;
  checkRetention(retentionMs);
  const scopes = new Map<string, ScopeRows>();
  let closed = false;

  const rowsOf = (scope: LedgerScope): ScopeRows => {
    if (closed) throw new TidegateError("TG_CLOSED", "the ledger is closed");
    const name = `${scope.pipeline} ${scope.generation}`;
    const existing = scopes.get(name);
    if (existing !== undefined) return existing;
    const fresh = freshRows(scope);
    scopes.set(name, fresh);
    return fresh;
  };

  const calls = ledgerCalls(
    async (scope, items) => {
      const rows = rowsOf(scope);
      const at = { ...time.read(), retentionMs };
      const results = items.map((item) => runItem(rows, item, at, writes?.run));
      return onCallersClock(results, time);
    },
    { takesWrites: writes !== undefined },
  );

  return {
    sinkDialect: writes?.dialect ?? null,
    sinkStore: writes?.store ?? null,
    ...calls,
    ...noteCalls(createMemoryNoteStore((scope) => rowsOf(scope).notes, time, retentionMs)),
    ...runCalls(
      createMemoryRunStore((scope) => rowsOf(scope).runs, time, retentionMs),
      () => time.read().expiry,
    ),
    ...readCalls(rowsOf, time),
    async stats() {
      const all = [...scopes.values()]
        .map((rows) => count(rows, time.read().expiry))
        .filter(isUsed);
      return all.sort(compareScopes);
    },
    purge: async (limit) => purgeScopes([...scopes.values()], time.read().expiry, limit),
    check: async () => ["A memory ledger loses everything when the process ends."],
    leap: () => time.leap(),
    async close() {
      closed = true;
    },
  };
}

/** The calls that only read records and objects. */
function readCalls(rowsOf: (scope: LedgerScope) => ScopeRows, time: LedgerTime) {
  const expiry = () => time.read().expiry;
  const calls: Pick<
    Ledger,
    "show" | "showObject" | "hasRecords" | "searchRecords" | "listRecords"
  > = {
    ...listCall(async (scope, range) => listMemoryRows(rowsOf(scope).records, range), expiry),
    ...hasRecordsCall(async (scope, keys) => findLive(rowsOf(scope), keys, expiry())),
    ...searchCall(async (scope, { url }, limit) =>
      searchRows(rowsOf(scope), url, expiry()).slice(0, limit),
    ),
    async show(scope, key) {
      checkScope(scope);
      const row = rowsOf(scope).records.get(key);
      if (row === undefined || liveRecord(row.record, time.read().expiry) !== row.record)
        return undefined;
      const entries: LogEntry[] = decodeEntries(row.log);
      return { key, record: row.record, input: row.input, entries };
    },
    async showObject(scope, bucket, key) {
      checkScope(scope);
      const object = rowsOf(scope).objects.get(JSON.stringify([bucket, key])) ?? null;
      return liveObject(object, time.read().expiry) ?? undefined;
    },
  };
  return calls;
}

function freshRows({ pipeline, generation }: LedgerScope): ScopeRows {
  const scope = { pipeline, generation };
  return { scope, records: new Map(), objects: new Map(), notes: new Map(), runs: new Map() };
}

function searchRows({ records }: ScopeRows, text: string, now: EpochMs): RecordKey[] {
  const matches = ({ record, input }: Row) =>
    record.expiresAt > now && namesOf(input).some((name) => name.includes(text));
  return [...records].filter(([, row]) => matches(row)).map(([key]) => key);
}

function findLive(
  { records }: ScopeRows,
  keys: readonly RecordKey[],
  now: EpochMs,
): ReadonlySet<RecordKey> {
  const recordOf = (key: RecordKey) => liveRecord(records.get(key)?.record ?? ABSENT, now);
  return new Set(keys.filter((key) => recordOf(key) !== ABSENT));
}

function runItem(
  { records, objects, notes }: ScopeRows,
  item: RecordItem,
  time: LedgerInstant & { readonly retentionMs: DurationMs },
  runWrites: RunWrites,
): RecordResult {
  const { key, object: ref, note, call, writes } = item;
  const row = records.get(key);
  const objectName = ref === null ? "" : JSON.stringify([ref.bucket, ref.key]);
  const object = ref === null ? null : (objects.get(objectName) ?? null);
  const record = row?.record ?? ABSENT;
  const storedInput = row?.input ?? null;
  const step = stepCall({ key, record, storedInput, object, ref, ...time }, call);
  if (step.record !== null && step.input !== null) {
    // First, so that a write that throws leaves the record uncommitted.
    if (step.result.kind === "committed" && writes.length > 0) {
      runWrites?.(writes, { key, fence: step.record.fence });
    }
    const log = grownLog(row, step.entries, time.expiry);
    records.set(key, { record: step.record, input: step.input, log });
    if (note !== null && addsNote(step)) addNote(notes, note, time);
  }
  if (step.object !== null) objects.set(objectName, step.object);
  return step.result;
}

function purgeScopes(scopes: readonly ScopeRows[], expiry: EpochMs, limit: number): number {
  let purged = 0;
  for (const { records, objects, notes, runs } of scopes) {
    for (const [key, { record }] of records) {
      if (purged < limit && record.expiresAt <= expiry && records.delete(key)) purged += 1;
    }
    for (const [name, object] of objects) {
      if (purged < limit && object.expiresAt <= expiry && objects.delete(name)) purged += 1;
    }
    for (const [id, note] of notes) {
      if (purged < limit && note.expiresAt <= expiry && notes.delete(id)) purged += 1;
    }
    for (const [id, run] of runs) {
      if (purged < limit && run.expiresAt <= expiry && runs.delete(id)) purged += 1;
    }
  }
  return purged;
}

function isUsed({ claimed, released, failed, committed, parked, objects }: ScopeStats): boolean {
  return claimed + released + failed + committed + parked + objects > 0;
}

function count({ scope, records, objects }: ScopeRows, expiry: EpochMs): ScopeStats {
  const counts = noCounts();
  for (const { record } of records.values())
    if (record.expiresAt > expiry) counts[record.kind] += 1;
  for (const object of objects.values()) if (object.expiresAt > expiry) counts.objects += 1;
  return { ...scope, ...counts };
}
