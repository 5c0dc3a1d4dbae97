// Runs: the row of a process life or a replay, and the ledger's calls on top of a store's three.
//   U1. A row only moves forward: an older heartbeat changes nothing, and an end is never unset. So
//       a repeated or late call is harmless.
//   U2. A run lives longer than the records that refer to it: every heartbeat extends it by a
//       retention and RUN_EXTRA_MS, which is longer than the time between two heartbeats.
//   U3. Runs are listed by start, newest first, then by id.

import { refuseValue } from "../core/errors.ts";
import { addMs, type DurationMs, days, type EpochMs, epochMs } from "../core/units.ts";
import type { ListPage, RunKind, RunPage, RunRow } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import { checkScope } from "./batches.ts";
import { checkRun, checkRunId } from "./input-checks.ts";
import { checkListPage, decodeCursor } from "./list-records.ts";
import type { LedgerInstant } from "./store-time.ts";

/** A run as stored. */
export interface StoredRun extends RunRow {
  readonly expiresAt: EpochMs;
}

const RUN_EXTRA_MS: DurationMs = days(1);

/** A table row as a run; SQLite and PostgreSQL use the same columns. */
export function fromRunColumns(row: Readonly<Record<string, unknown>>): StoredRun {
  return {
    id: String(row.id),
    kind: row.kind as RunKind,
    startedAt: epochMs(Number(row.started_at)),
    endedAt: row.ended_at === null ? null : epochMs(Number(row.ended_at)),
    seenAt: epochMs(Number(row.seen_at)),
    codeDigest: String(row.code_digest),
    configDigest: String(row.config_digest),
    environment: String(row.environment),
    parameters: String(row.parameters),
    counts: String(row.counts),
    expiresAt: epochMs(Number(row.expires_at)),
  };
}

/** The row to store after `given` (U1). */
export function mergeRun(
  stored: StoredRun | null,
  given: RunRow,
  time: LedgerInstant & { readonly retentionMs: DurationMs },
): StoredRun {
  const previous = liveRun(stored, time.expiry);
  const newest = previous !== null && previous.seenAt > given.seenAt ? previous : given;
  return {
    id: given.id,
    kind: newest.kind,
    startedAt: previous?.startedAt ?? given.startedAt,
    endedAt: previous?.endedAt ?? given.endedAt,
    seenAt: newest.seenAt,
    codeDigest: newest.codeDigest,
    configDigest: newest.configDigest,
    environment: newest.environment,
    parameters: newest.parameters,
    counts: newest.counts,
    expiresAt: addMs(addMs(time.now, time.retentionMs), RUN_EXTRA_MS), // U2
  };
}

/** The run as of `expiry`, or null if it is missing or expired. */
export function liveRun(stored: StoredRun | null, expiry: EpochMs): StoredRun | null {
  return stored !== null && stored.expiresAt > expiry ? stored : null;
}

/** Runs that started before `start`, or at that time with a smaller id; null: all (U3). */
export interface RunRange {
  readonly start: { readonly startedAt: number; readonly id: string } | null;
  readonly limit: number;
}

/** What a store implements for runs. */
export interface RunStore {
  /** Merges the run by `mergeRun`, in one atomic write. */
  put(scope: LedgerScope, run: RunRow): Promise<void>;
  find(scope: LedgerScope, id: string): Promise<StoredRun | null>;
  /** In the order of U3, expired ones included. */
  list(scope: LedgerScope, range: RunRange): Promise<StoredRun[]>;
}

export function runCalls(store: RunStore, expiryNow: () => EpochMs | Promise<EpochMs>) {
  return {
    async putRun(scope: LedgerScope, run: RunRow): Promise<void> {
      checkScope(scope);
      checkRun(run);
      await store.put(scope, run);
    },
    async findRun(scope: LedgerScope, id: string): Promise<RunRow | undefined> {
      checkScope(scope);
      checkRunId(id);
      const run = liveRun(await store.find(scope, id), await expiryNow());
      return run === null ? undefined : runOf(run);
    },
    async listRuns(scope: LedgerScope, page: ListPage): Promise<RunPage> {
      checkScope(scope);
      checkListPage(page, "runs");
      const { after, limit } = page;
      const start = after === null ? null : decodeStart(after);
      const rows = await store.list(scope, { start, limit });
      const expiry = await expiryNow();
      const last = rows.at(-1);
      const next = last === undefined || rows.length < limit ? null : encodeStart(last);
      return { runs: rows.filter((run) => liveRun(run, expiry) !== null).map(runOf), next };
    },
  };
}

/** A run as readers get it. */
export function runOf({ expiresAt: _, ...run }: StoredRun): RunRow {
  return run;
}

function encodeStart({ startedAt, id }: StoredRun): string {
  return Buffer.from(JSON.stringify(["runs", startedAt, id])).toString("base64url");
}

function decodeStart(cursor: string): { startedAt: number; id: string } {
  const [what, startedAt, id] = decodeCursor(cursor);
  if (what === "runs" && Number.isSafeInteger(startedAt) && typeof id === "string") {
    return { startedAt: Number(startedAt), id };
  }
  return refuseValue(`${JSON.stringify(cursor)} is not a cursor of a list of runs`);
}
