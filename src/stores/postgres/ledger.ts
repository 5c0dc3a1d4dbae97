// PostgreSQL ledger: the record transitions over tables that many processes share.
//   P1. The fast path is one statement and one round trip: new records are inserted unless they
//       exist, and held claims are committed if the fence matches. Records that the statement does
//       not settle take the slow path: lock the rows, run the transitions, write, in one
//       transaction.
//   P2. A transition gets only rows that are locked, or that were absent and are then inserted, or
//       that still are absent when their objects are locked. If another transaction came first,
//       this one is rolled back and run again.
//   P3. The server provides durability (fsync, synchronous_commit); `ledger check` reports if it is
//       off.
//   P4. A batch that meets a lock runs again record by record (busy-batch.ts). A lock that is not
//       granted makes a claim "busy"; it does not make the ledger unavailable.
//   P5. Leases, stamps and expiry follow the server's clock (server-time.ts), so that a wrong clock
//       of one process holds and expires nothing.

import type { Pool } from "pg";
import { present } from "../../core/assert.ts";
import { refuseConfig, TidegateError } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import { checkRetention, checkScope, rounds } from "../../ledger/batches.ts";
import { hasRecordsCall } from "../../ledger/has-records.ts";
import type { RecordItem, RunBatch } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { listCall } from "../../ledger/list-records.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { decodeEntries } from "../../ledger/record-log.ts";
import { liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { runCalls } from "../../ledger/runs.ts";
import { searchCall } from "../../ledger/search-records.ts";
import { openedOrClosed, type StoreGuard } from "../../ledger/store-guard.ts";
import { type LedgerTime, onCallersClock, type StoreTimeOptions } from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { runOneByOne, unlessBusy } from "./busy-batch.ts";
import { runFastBatch } from "./fast-batch.ts";
import { postgresLedgerFault } from "./faults.ts";
import { createPostgresUpkeep } from "./ledger-upkeep.ts";
import { listPostgresRows } from "./list-rows.ts";
import { runLocked } from "./locked-batch.ts";
import { createPostgresNoteStore } from "./note-rows.ts";
import { openDatabase } from "./open-database.ts";
import { readOnlyPool } from "./read-only-pool.ts";
import type { LedgerTables } from "./record-rows.ts";
import {
  objectName,
  searchInputs,
  selectLiveKeys,
  selectObjects,
  selectRecords,
} from "./record-rows.ts";
import { createPostgresRunStore } from "./run-rows.ts";
import { createPostgresTables, hasPostgresSchema, POSTGRES_LEDGER } from "./schema.ts";
import { ServerTime } from "./server-time.ts";
import { createPostgresSinkStore } from "./sink-store.ts";
import { createStatementNames } from "./sql/sink-writes.ts";
import { fencedParameter } from "./time-limits.ts";

export interface PostgresLedgerOptions extends StoreTimeOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly retentionMs?: DurationMs;
  /** Whether to create missing tables, which needs the permissions. Default: true. */
  readonly create?: boolean;
  /** Reads in read-only transactions and rejects calls that write. Implies `create: false`. */
  readonly readOnly?: boolean;
  readonly connectionsMax?: number;
  /** Timeout of a statement, except upkeep and upgrades. Default: 15 s. */
  readonly statementMsMax?: DurationMs;
}

const CONNECTIONS_MAX_DEFAULT = 10;

/** Creates missing tables or, without `create`, requires them. */
async function prepare(
  pool: Pool,
  { create, use }: { readonly create: boolean; readonly use: "read" | "write" },
): Promise<void> {
  if (create) await createPostgresTables(pool, POSTGRES_LEDGER);
  else if (!(await hasPostgresSchema(pool, POSTGRES_LEDGER, use))) {
    refuseConfig("the database contains no ledger; run `tidegate ledger init`");
  }
}

/** Opens the ledger in a PostgreSQL database. */
export async function createPostgresLedger(
  ports: { readonly clock: Clock },
  options: PostgresLedgerOptions,
): Promise<Ledger> {
  const { url, connectionsMax = CONNECTIONS_MAX_DEFAULT, readOnly = false } = options;
  const { create = true } = options;
  const { retentionMs = RETENTION_MS_DEFAULT, statementMsMax } = options;
  checkRetention(retentionMs);
  const fencedBy = readOnly ? undefined : POSTGRES_LEDGER;
  const opened = await openDatabase(
    { name: "ledger", faultOf: postgresLedgerFault, url, connectionsMax, statementMsMax, fencedBy },
    (database) =>
      readOnly
        ? prepare(readOnlyPool(database), { create: false, use: "read" })
        : prepare(database, { create, use: "write" }),
  );
  const { guard, close } = opened;
  const pool = readOnly ? readOnlyPool(opened.pool) : opened.pool;
  const { acceptClock } = options;
  const server = new ServerTime(pool, "ledger", { clock: ports.clock, acceptClock }); // P5
  await openedOrClosed(
    guard(() => server.open()),
    close,
  );
  const tables: LedgerTables = { pool, retentionMs, statementName: createStatementNames() };
  const scopeIdOf = scopeNumbers(pool, { mayCreate: !readOnly });
  const run: RunBatch = (scope, items) =>
    guard(async () => {
      if (readOnly) throw new TidegateError("TG_LEDGER_UNAVAILABLE", "the ledger is read-only");
      await server.readToWrite();
      const results = await runBatch(tables, await scopeIdOf(scope), items, server.time);
      return onCallersClock(results, server.time);
    });

  return {
    sinkDialect: "postgres",
    sinkStore: createPostgresSinkStore(tables, guard),
    ...ledgerCalls(run, { takesWrites: true }),
    ...noteCalls(createPostgresNoteStore({ pool, server, retentionMs, scopeIdOf, guard })),
    ...createPostgresUpkeep({ pool, server, guard }),
    ...runCalls(createPostgresRunStore({ pool, server, retentionMs, scopeIdOf, guard }), () =>
      guard(async () => (await server.read()).expiry),
    ),
    ...readCalls({ pool, server, scopeIdOf, guard }),
    close,
  };
}

interface ReadParts {
  readonly pool: Pool;
  readonly server: ServerTime;
  readonly scopeIdOf: (scope: LedgerScope) => Promise<number>;
  readonly guard: StoreGuard["guard"];
}

/** The calls that only read records and objects. */
function readCalls({ pool, server, scopeIdOf, guard }: ReadParts) {
  const calls: Pick<
    Ledger,
    "show" | "showObject" | "hasRecords" | "searchRecords" | "listRecords"
  > = {
    ...listCall(
      (scope, range) => guard(async () => listPostgresRows(pool, await scopeIdOf(scope), range)),
      () => guard(async () => (await server.read()).expiry),
    ),
    ...hasRecordsCall((scope, keys) =>
      guard(async () => {
        const { expiry } = await server.read();
        return selectLiveKeys(pool, await scopeIdOf(scope), keys, expiry);
      }),
    ),
    ...searchCall((scope, wanted, limit) =>
      guard(async () => {
        const { expiry } = await server.read();
        return searchInputs(pool, await scopeIdOf(scope), wanted, { expiry, limit });
      }),
    ),
    show: (scope, key) =>
      guard(async () => {
        checkScope(scope);
        const scopeId = await scopeIdOf(scope);
        const stored = (await selectRecords(pool, scopeId, [key], { lock: false })).get(key);
        const { expiry } = await server.read();
        if (stored === undefined || liveRecord(stored.record, expiry).kind === "absent") return;
        const { record, input } = stored;
        return { key, record, input, entries: decodeEntries(stored.log) };
      }),
    showObject: (scope, bucket, key) =>
      guard(async () => {
        checkScope(scope);
        const scopeId = await scopeIdOf(scope);
        const objects = await selectObjects(pool, scopeId, [{ bucket, key }], { lock: false });
        const object = objects.get(objectName({ bucket, key })) ?? null;
        return liveObject(object, (await server.read()).expiry) ?? undefined;
      }),
  };
  return calls;
}

/**
 * Runs the records of a batch in rounds: the fast path first, then the slow path for the rest (P1).
 */
async function runBatch(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  time: LedgerTime,
): Promise<RecordResult[]> {
  const results = new Array<RecordResult>(items.length);
  for (const round of rounds(items)) {
    const batch = round.map((at) => present(items[at], "an item of the round"));
    const instant = time.read();
    const fast = await unlessBusy(() => runFastBatch(tables, scopeId, batch, instant));
    const remaining = batch.filter((_, at) => (fast?.[at] ?? null) === null);
    const slow =
      fast === null || remaining.length === 0
        ? null
        : await unlessBusy(() => runLocked(tables, scopeId, remaining, instant));
    const rest = slow ?? (await runOneByOne(tables, scopeId, remaining, time)); // P4
    let next = 0;
    for (const [at, index] of round.entries()) {
      results[index] = fast?.[at] ?? present(rest[next++], "the result of an item");
    }
  }
  return results;
}

/** Numbers of scopes: they are few and never deleted, so each is read once. */
function scopeNumbers(
  pool: Pool,
  options: { readonly mayCreate: boolean },
): (scope: LedgerScope) => Promise<number> {
  const numbers = new Map<string, Promise<number>>();
  return (scope) => {
    const name = `${scope.pipeline} ${scope.generation}`;
    const number = numbers.get(name) ?? openScope(pool, scope, options);
    numbers.set(name, number);
    // The caller gets the failure, or that there is none yet; the next call reads again.
    number.then(
      (id) => id === NO_SCOPE && numbers.delete(name),
      () => numbers.delete(name),
    );
    return number;
  };
}

/** No scope has this number: it is the answer for a scope that may not be created. */
const NO_SCOPE = 0;

async function openScope(
  pool: Pool,
  { pipeline, generation }: LedgerScope,
  { mayCreate }: { readonly mayCreate: boolean },
): Promise<number> {
  const values = [pipeline, generation];
  const select = "SELECT id FROM tidegate_ledger_scope WHERE pipeline = $1 AND generation = $2";
  const existing = await pool.query(select, values);
  if (existing.rows.length > 0) return existing.rows[0].id;
  if (!mayCreate) return NO_SCOPE;
  await pool.query(
    `INSERT INTO tidegate_ledger_scope (pipeline, generation)
     VALUES ($1, ${fencedParameter(pool, "$2")})
     ON CONFLICT DO NOTHING`,
    values,
  );
  const { rows } = await pool.query(select, values);
  return present(rows[0], "the number of a scope").id;
}
