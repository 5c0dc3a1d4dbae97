// PostgreSQL outbox: the outbox transitions over a table that many processes share.
//   P1. A transition gets only rows that are locked, or that were absent and are then inserted. If
//       an insert finds that another came first, the transaction is rolled back and run again.
//   P2. An advisory lock per target keeps two takers from splitting one group between them.
//       Registering and republishing also lease rows, without that lock. If rows were taken past a
//       row that was leased in between, the transaction rolls back and takes again.
//   P3. A call that meets a lock is repeated until it outlasts a frozen holder (W4 of
//       sql/sql-limits.ts), and only then fails.

import type { Pool, PoolClient } from "pg";
import type { DurationMs, EpochMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import { batchCalls } from "../../ledger/outbox/batch-calls.ts";
import {
  type ChangeRows,
  outboxChanges,
  type RowTransition,
} from "../../ledger/outbox/outbox-calls.ts";
import { fromOutboxColumns } from "../../ledger/outbox/outbox-columns.ts";
import { stepRegister } from "../../ledger/outbox/outbox-transitions.ts";
import { LEASE_MS_MAX, RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { openedOrClosed } from "../../ledger/store-guard.ts";
import { type LedgerTime, onCallersClock, type StoreTimeOptions } from "../../ledger/store-time.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Outbox,
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RegisterResult,
} from "../../ports/outbox.ts";
import { createPostgresBatchRows, purgeBatches } from "./batch-rows.ts";
import { postgresOutboxFault } from "./faults.ts";
import { openDatabase } from "./open-database.ts";
import {
  findRow,
  insertRow,
  lockRows,
  PASSED,
  PURGE,
  PURGE_BEFORE,
  selectStats,
  TAKE,
  UNSETTLED,
  updateRow,
} from "./outbox-rows.ts";
import { createPostgresTables, hasPostgresSchema, POSTGRES_OUTBOX } from "./schema.ts";
import { ServerTime } from "./server-time.ts";
import { retryBusy } from "./sql/sql-limits.ts";
import { fencedParameter, upkeep } from "./time-limits.ts";
import { CONFLICT, inPostgresTransaction, type OrConflict } from "./transaction.ts";

export interface PostgresOutboxOptions extends StoreTimeOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly retentionMs?: DurationMs;
  readonly connectionsMax?: number;
  /** Timeout of a statement, except upkeep and upgrades. Default: 15 s. */
  readonly statementMsMax?: DurationMs;
}

const CONNECTIONS_MAX_DEFAULT = 5;
/** Separates these advisory locks from others on the same names. */
const TAKE_LOCK = 7_412_530_072;

/** Opens the outbox in a PostgreSQL database; creates its table if it is missing. */
export async function createPostgresOutbox(
  ports: { readonly clock: Clock },
  options: PostgresOutboxOptions,
): Promise<Outbox> {
  const opened = await openOutboxDatabase(options, (pool) =>
    createPostgresTables(pool, POSTGRES_OUTBOX),
  );
  return await outboxOn(ports, opened, options);
}

/** Opens the outbox of a PostgreSQL database; null if it has none. Creates nothing. */
export async function findPostgresOutbox(
  ports: { readonly clock: Clock },
  options: PostgresOutboxOptions,
): Promise<Outbox | null> {
  let exists = false;
  const opened = await openOutboxDatabase(options, async (pool) => {
    exists = await hasPostgresSchema(pool, POSTGRES_OUTBOX, "write");
  });
  if (exists) return await outboxOn(ports, opened, options);
  await opened.close();
  return null;
}

function openOutboxDatabase(
  { url, connectionsMax = CONNECTIONS_MAX_DEFAULT, statementMsMax }: PostgresOutboxOptions,
  prepare: (pool: Pool) => Promise<void>,
) {
  const name = "outbox";
  const faultOf = postgresOutboxFault;
  const fencedBy = POSTGRES_OUTBOX;
  return openDatabase({ name, faultOf, url, connectionsMax, statementMsMax, fencedBy }, prepare);
}

async function outboxOn(
  { clock }: { readonly clock: Clock },
  { pool, guard, close }: Awaited<ReturnType<typeof openDatabase>>,
  { retentionMs = RETENTION_MS_DEFAULT, acceptClock }: PostgresOutboxOptions,
): Promise<Outbox> {
  const server = new ServerTime(pool, "outbox", { clock, acceptClock });
  await openedOrClosed(
    guard(() => server.open()),
    close,
  );
  const { time } = server;
  const write = <T>(work: (client: PoolClient) => Promise<OrConflict<T>>) =>
    guard(async () => {
      await server.readToWrite();
      return await retryBusy(() => inPostgresTransaction(pool, "outbox", work));
    });
  const change: ChangeRows = (target, keys, transition) =>
    write((client) => changeRows(client, target, keys, transition));

  return {
    register: async (target, entries, lease) => {
      const asked = { target, entries, lease };
      return onCallersClock(await write((client) => registerAll(client, time, asked)), time);
    },
    take: (target, limit, lease) =>
      write((client) => takeRows(client, time, { target, limit, lease })),
    ...outboxChanges(change, time.now, retentionMs),
    sentNotDone: (target, { sentBefore, afterSeq, limit }) =>
      guard(async () => {
        const { rows } = await pool.query(UNSETTLED, [target, afterSeq, sentBefore, limit]);
        return rows.map(fromOutboxColumns);
      }),
    find: (target, key) => guard(() => findRow(pool, target, key)),
    stats: (target) => guard(() => selectStats(pool, target)),
    purge: (limit, sentBefore) =>
      guard(async () => {
        const count = async (sql: string, instant: EpochMs, max: number) => {
          const fenced = sql.replace("$1", fencedParameter(pool, "$1"));
          return (await pool.query(upkeep(fenced, [instant, max]))).rowCount ?? 0;
        };
        const { expiry } = await server.readToWrite();
        const before = time.toStore(sentBefore ?? null);
        let purged = await count(PURGE, expiry, limit);
        if (before !== null) purged += await count(PURGE_BEFORE, before, limit - purged);
        return purged + (await purgeBatches(pool, limit - purged, expiry));
      }),
    ...batchCalls(createPostgresBatchRows({ pool, time, guard, write }), retentionMs),
    leap: () => time.leap(),
    close,
  };
}

/** Locks the rows, then saves the result of the transition for each. */
async function changeRows(
  client: PoolClient,
  target: string,
  keys: readonly string[],
  transition: RowTransition,
): Promise<OutboxRow[]> {
  const rows = await lockRows(client, target, keys);
  const changed = keys.map((key) => transition(rows.get(key), key)).filter((row) => row !== null);
  for (const row of changed) await updateRow(client, row);
  return changed;
}

async function takeRows(
  client: PoolClient,
  time: LedgerTime,
  asked: { readonly target: string; readonly limit: number; readonly lease: OutboxLease },
): Promise<OrConflict<OutboxRow[]>> {
  const { target, limit, lease } = asked;
  const lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))"; // P2
  await client.query(lock, [target, TAKE_LOCK]);
  const { now } = time.read();
  const until = addMs(now, lease.leaseMs);
  const longest = addMs(now, LEASE_MS_MAX);
  const { rows } = await client.query(TAKE, [target, lease.owner, now, limit, until, longest]);
  const leased = rows.map(fromOutboxColumns).sort((a, b) => a.seq - b.seq);
  const grouped = leased.filter(({ groupId }) => groupId !== null).map(({ seq }) => seq);
  if (grouped.length === 0) return leased;
  const passed = await client.query(PASSED, [grouped, lease.owner, now, longest]);
  return passed.rows.length > 0 ? CONFLICT : leased;
}

async function registerAll(
  client: PoolClient,
  time: LedgerTime,
  asked: {
    readonly target: string;
    readonly entries: readonly OutboxEntry[];
    readonly lease: OutboxLease;
  },
): Promise<OrConflict<RegisterResult[]>> {
  const { target, entries, lease } = asked;
  const keys = [...new Set(entries.map(({ key }) => key))];
  const rows = await lockRows(client, target, keys);
  const results: RegisterResult[] = [];
  for (const entry of entries) {
    const previous = rows.get(entry.key);
    const step = stepRegister(previous, entry, lease, { ...time.read(), seq: 0 });
    if (step.save === null) results.push(step.result);
    else if (step.fresh) {
      const row = await insertRow(client, target, step.save, previous);
      if (row === undefined) return CONFLICT; // P1
      rows.set(entry.key, row);
      results.push({ kind: "taken", row });
    } else {
      await updateRow(client, step.save);
      rows.set(entry.key, step.save);
      results.push(step.result);
    }
  }
  return results;
}
