// PostgreSQL ledger: the law over tables that many machines share.
//   P1. The common case is one statement and one round trip: new records are inserted unless they
//       are there, held claims are committed if the fence is theirs. What such a statement leaves
//       undone goes the long way: lock the rows, ask the law, write, in one transaction.
//   P2. The law is told only of rows that are locked, or were absent and are then inserted, or
//       still are when their objects are locked; if another came first, the transaction is rolled
//       back and run again.
//   P3. Durability is the server's (fsync, synchronous_commit); `ledger check` tells if it is off.

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
  /** Whether to create or bring up to date what is missing; needs the rights to. */
  readonly migrate?: boolean;
  readonly connectionsMax?: number;
  /** How long a statement may be unanswered, but for upkeep and migrations: 15 s if unsaid. */
  readonly statementMsMax?: DurationMs;
}

const CONNECTIONS_MAX_DEFAULT = 10;

/** Makes the tables or, where that is not wanted, makes sure of them. */
async function prepare(pool: Pool, mayMigrate: boolean): Promise<void> {
  if (mayMigrate) await migratePostgres(pool, "ledger", POSTGRES_LEDGER_MIGRATIONS);
  else if (
    (await missingPostgresMigrations(pool, "ledger", POSTGRES_LEDGER_MIGRATIONS)).length > 0
  ) {
    const message = "the database holds no ledger of this version; run `tidegate ledger init`";
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
        const found = (await selectRecords(pool, scopeId, [key], { lock: false })).get(key);
        if (found === undefined || liveRecord(found.record, clock.now()).kind === "absent") return;
        return { key, record: found.record, entries: decodeEntries(found.log) };
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

/** Runs the records of a batch, round by round: plainly where that decides, else locked (P1). */
async function runBatch(
  tables: LedgerTables,
  scopeId: number,
  items: readonly RecordItem[],
  clock: Clock,
): Promise<RecordResult[]> {
  const results = new Array<RecordResult>(items.length);
  for (const round of rounds(items)) {
    const ours = round.map((at) => present(items[at], "an item of the round"));
    const now = clock.now();
    const plain = await runFastBatch(tables, scopeId, ours, now);
    const left = ours.filter((_, at) => plain[at] === null);
    const locked = left.length === 0 ? [] : await runLocked(tables, scopeId, left, now);
    let next = 0;
    for (const [at, index] of round.entries()) {
      results[index] = plain[at] ?? present(locked[next++], "the result of an item");
    }
  }
  return results;
}

/** Numbers of scopes: these are few and never deleted, so each is asked for once. */
function scopeNumbers(pool: Pool): (scope: LedgerScope) => Promise<number> {
  const known = new Map<string, Promise<number>>();
  return (scope) => {
    const name = `${scope.pipeline} ${scope.generation}`;
    const asked = known.get(name) ?? openScope(pool, scope);
    known.set(name, asked);
    asked.catch(() => known.delete(name)); // A failure is told to its caller and asked for anew.
    return asked;
  };
}

async function openScope(pool: Pool, { pipeline, generation }: LedgerScope): Promise<number> {
  const values = [pipeline, generation];
  const select = "SELECT id FROM tidegate_ledger_scope WHERE pipeline = $1 AND generation = $2";
  const found = await pool.query(select, values);
  if (found.rows.length > 0) return found.rows[0].id;
  await pool.query(
    `INSERT INTO tidegate_ledger_scope (pipeline, generation) VALUES ($1, $2)
     ON CONFLICT DO NOTHING`,
    values,
  );
  const { rows } = await pool.query(select, values);
  return present(rows[0], "the number of a scope").id;
}
