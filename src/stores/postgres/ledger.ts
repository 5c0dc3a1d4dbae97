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

import type { Pool } from "pg";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import type { DurationMs } from "../../core/units.ts";
import { checkRetention, checkScope, rounds } from "../../ledger/batches.ts";
import type { RecordItem, RunBatch } from "../../ledger/ledger-calls.ts";
import { ledgerCalls } from "../../ledger/ledger-calls.ts";
import { noteCalls } from "../../ledger/note-calls.ts";
import type { RecordResult } from "../../ledger/record-call.ts";
import { decodeEntries } from "../../ledger/record-log.ts";
import { liveObject, liveRecord, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { runOneByOne, unlessBusy } from "./busy-batch.ts";
import { runFastBatch } from "./fast-batch.ts";
import { postgresLedgerFault } from "./faults.ts";
import { createPostgresUpkeep } from "./ledger-upkeep.ts";
import { runLocked } from "./locked-batch.ts";
import { createPostgresNoteStore } from "./note-rows.ts";
import { openDatabase } from "./open-database.ts";
import type { LedgerTables } from "./record-rows.ts";
import { objectName, selectObjects, selectRecords } from "./record-rows.ts";
import {
  migratePostgres,
  missingPostgresMigrations,
  POSTGRES_LEDGER_MIGRATIONS,
} from "./schema.ts";

export interface PostgresLedgerOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly retentionMs?: DurationMs;
  /** Whether to create or migrate the tables, which needs the permissions. Default: true. */
  readonly migrate?: boolean;
  readonly connectionsMax?: number;
  /** Timeout of a statement, except upkeep and migrations. Default: 15 s. */
  readonly statementMsMax?: DurationMs;
}

const CONNECTIONS_MAX_DEFAULT = 10;

/** Migrates the tables or, without `migrate`, checks them. */
async function prepare(pool: Pool, mayMigrate: boolean): Promise<void> {
  if (mayMigrate) await migratePostgres(pool, "ledger", POSTGRES_LEDGER_MIGRATIONS);
  else if (
    (await missingPostgresMigrations(pool, "ledger", POSTGRES_LEDGER_MIGRATIONS)).length > 0
  ) {
    const message = "the database contains no ledger of this version; run `tidegate ledger init`";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
}

/** Opens the ledger in a PostgreSQL database. */
export async function createPostgresLedger(
  ports: { readonly clock: Clock },
  options: PostgresLedgerOptions,
): Promise<Ledger> {
  const { clock } = ports;
  const { url, connectionsMax = CONNECTIONS_MAX_DEFAULT, migrate: mayMigrate = true } = options;
  const { retentionMs = RETENTION_MS_DEFAULT, statementMsMax } = options;
  checkRetention(retentionMs);
  const { pool, guard, close } = await openDatabase(
    { name: "ledger", faultOf: postgresLedgerFault, url, connectionsMax, statementMsMax },
    (opened) => prepare(opened, mayMigrate),
  );
  const tables: LedgerTables = { pool, retentionMs, sinkStatements: new Map() };
  const scopeIdOf = scopeNumbers(pool);
  const run: RunBatch = (scope, items) =>
    guard(async () => runBatch(tables, await scopeIdOf(scope), items, clock));

  return {
    sinkDialect: "postgres",
    ...ledgerCalls(run, { takesWrites: true }),
    ...noteCalls(createPostgresNoteStore({ pool, clock, retentionMs, scopeIdOf, guard })),
    ...createPostgresUpkeep({ pool, clock, guard }),
    show: (scope, key) =>
      guard(async () => {
        checkScope(scope);
        const scopeId = await scopeIdOf(scope);
        const stored = (await selectRecords(pool, scopeId, [key], { lock: false })).get(key);
        if (stored === undefined || liveRecord(stored.record, clock.now()).kind === "absent")
          return;
        return { key, record: stored.record, entries: decodeEntries(stored.log) };
      }),
    showObject: (scope, bucket, key) =>
      guard(async () => {
        checkScope(scope);
        const scopeId = await scopeIdOf(scope);
        const objects = await selectObjects(pool, scopeId, [{ bucket, key }], { lock: false });
        const object = objects.get(objectName({ bucket, key })) ?? null;
        return liveObject(object, clock.now()) ?? undefined;
      }),
    close,
  };
}

/**
 * Runs the records of a batch in rounds: the fast path first, then the slow path for the rest (P1).
 */
async function runBatch(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  clock: Clock,
): Promise<RecordResult[]> {
  const results = new Array<RecordResult>(items.length);
  for (const round of rounds(items)) {
    const batch = round.map((at) => present(items[at], "an item of the round"));
    const now = clock.now();
    const fast = await unlessBusy(() => runFastBatch(tables, scopeId, batch, now));
    const remaining = batch.filter((_, at) => (fast?.[at] ?? null) === null);
    const slow =
      fast === null || remaining.length === 0
        ? null
        : await unlessBusy(() => runLocked(tables, scopeId, remaining, now));
    const rest = slow ?? (await runOneByOne(tables, scopeId, remaining, clock)); // P4
    let next = 0;
    for (const [at, index] of round.entries()) {
      results[index] = fast?.[at] ?? present(rest[next++], "the result of an item");
    }
  }
  return results;
}

/** Numbers of scopes: they are few and never deleted, so each is read once. */
function scopeNumbers(pool: Pool): (scope: LedgerScope) => Promise<number> {
  const numbers = new Map<string, Promise<number>>();
  return (scope) => {
    const name = `${scope.pipeline} ${scope.generation}`;
    const number = numbers.get(name) ?? openScope(pool, scope);
    numbers.set(name, number);
    // The caller gets the failure; the next call reads again.
    number.catch(() => numbers.delete(name));
    return number;
  };
}

async function openScope(pool: Pool, { pipeline, generation }: LedgerScope): Promise<number> {
  const values = [pipeline, generation];
  const select = "SELECT id FROM tidegate_ledger_scope WHERE pipeline = $1 AND generation = $2";
  const existing = await pool.query(select, values);
  if (existing.rows.length > 0) return existing.rows[0].id;
  await pool.query(
    `INSERT INTO tidegate_ledger_scope (pipeline, generation) VALUES ($1, $2)
     ON CONFLICT DO NOTHING`,
    values,
  );
  const { rows } = await pool.query(select, values);
  return present(rows[0], "the number of a scope").id;
}
