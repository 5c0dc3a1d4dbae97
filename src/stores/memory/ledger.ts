// Memory ledger: the record transitions over three maps. For tests, simulations and pipelines that
// may lose their state.

import { TidegateError } from "../../core/errors.ts";
import type { SinkWrite } from "../../core/sink-write.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { checkRetention, checkScope } from "../../ledger/batches.ts";
import type { RecordItem } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { StoredNote } from "../../ledger/notes.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { stepCall } from "../../ledger/record-call.ts";
import { decodeEntries, grownLog } from "../../ledger/record-log.ts";
import { ABSENT, liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { compareScopes, noCounts } from "../../ledger/scope-stats.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, ScopeStats } from "../../ports/ledger.ts";
import type {
  Fence,
  LedgerScope,
  LogEntry,
  ObjectState,
  RecordKey,
  StoredRecord,
} from "../../ports/record.ts";
import { addNote, createMemoryNoteStore } from "./note-rows.ts";

interface Row {
  readonly record: StoredRecord;
  readonly log: string;
}

interface ScopeRows {
  readonly scope: LedgerScope;
  readonly records: Map<RecordKey, Row>;
  readonly objects: Map<string, ObjectState>;
  readonly notes: Map<string, StoredNote>;
}

export interface MemoryLedgerOptions {
  readonly retentionMs?: DurationMs;
  /** Runs the writes of commits, in the same step; without it, commits may not contain writes. */
  readonly writes?: {
    readonly dialect: "sqlite" | "postgres";
    readonly run: (writes: readonly SinkWrite[], of: { key: RecordKey; fence: Fence }) => void;
  };
}

type RunWrites = NonNullable<MemoryLedgerOptions["writes"]>["run"] | undefined;

/** Creates a ledger that lives as long as its process. */
export function createMemoryLedger(
  ports: { readonly clock: Clock },
  options: MemoryLedgerOptions = {},
): Ledger {
  const { clock } = ports;
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
      const time = { now: clock.now(), retentionMs };
      return items.map((item) => runItem(rows, item, time, writes?.run));
    },
    { takesWrites: writes !== undefined },
  );

  return {
    sinkDialect: writes?.dialect ?? null,
    ...calls,
    ...noteCalls(createMemoryNoteStore((scope) => rowsOf(scope).notes, clock, retentionMs)),
    async show(scope, key) {
      checkScope(scope);
      const row = rowsOf(scope).records.get(key);
      if (row === undefined || liveRecord(row.record, clock.now()) !== row.record) return undefined;
      const entries: LogEntry[] = decodeEntries(row.log);
      return { key, record: row.record, entries };
    },
    async showObject(scope, bucket, key) {
      checkScope(scope);
      const object = rowsOf(scope).objects.get(JSON.stringify([bucket, key])) ?? null;
      return liveObject(object, clock.now()) ?? undefined;
    },
    async stats() {
      const all = [...scopes.values()].map((rows) => count(rows, clock)).filter(isUsed);
      return all.sort(compareScopes);
    },
    async purge(limit) {
      return purgeScopes([...scopes.values()], clock.now(), limit);
    },
    async check() {
      return ["A memory ledger loses everything when the process ends."];
    },
    async close() {
      closed = true;
    },
  };
}

function freshRows({ pipeline, generation }: LedgerScope): ScopeRows {
  const scope = { pipeline, generation };
  return { scope, records: new Map(), objects: new Map(), notes: new Map() };
}

function runItem(
  { records, objects, notes }: ScopeRows,
  item: RecordItem,
  time: { readonly now: EpochMs; readonly retentionMs: DurationMs },
  runWrites: RunWrites,
): RecordResult {
  const { now, retentionMs } = time;
  const { key, object: ref, note, call, writes } = item;
  const row = records.get(key);
  const objectName = ref === null ? "" : JSON.stringify([ref.bucket, ref.key]);
  const object = ref === null ? null : (objects.get(objectName) ?? null);
  const record = row?.record ?? ABSENT;
  const sequencer = ref?.sequencer ?? null;
  const step = stepCall({ key, record, object, sequencer, now, retentionMs }, call);
  if (step.record !== null) {
    // First, so that a write that throws leaves the record uncommitted.
    if (step.result.kind === "committed" && writes.length > 0) {
      runWrites?.(writes, { key, fence: step.record.fence });
    }
    records.set(key, { record: step.record, log: grownLog(row, step.entries, now) });
    if (note !== null) addNote(notes, note, time);
  }
  if (step.object !== null) objects.set(objectName, step.object);
  return step.result;
}

function purgeScopes(scopes: readonly ScopeRows[], now: EpochMs, limit: number): number {
  let purged = 0;
  for (const { records, objects, notes } of scopes) {
    for (const [key, { record }] of records) {
      if (purged < limit && record.expiresAt <= now && records.delete(key)) purged += 1;
    }
    for (const [name, object] of objects) {
      if (purged < limit && object.expiresAt <= now && objects.delete(name)) purged += 1;
    }
    for (const [id, note] of notes) {
      if (purged < limit && note.expiresAt <= now && notes.delete(id)) purged += 1;
    }
  }
  return purged;
}

function isUsed({ claimed, released, failed, committed, parked, objects }: ScopeStats): boolean {
  return claimed + released + failed + committed + parked + objects > 0;
}

function count({ scope, records, objects }: ScopeRows, clock: Clock): ScopeStats {
  const now = clock.now();
  const counts = noCounts();
  for (const { record } of records.values()) if (record.expiresAt > now) counts[record.kind] += 1;
  for (const object of objects.values()) if (object.expiresAt > now) counts.objects += 1;
  return { ...scope, ...counts };
}
