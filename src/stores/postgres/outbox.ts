// PostgreSQL outbox: the outbox transitions over a table that many processes share.
//   P1. A transition gets only rows that are locked, or that were absent and are then inserted. If
//       an insert finds that another came first, the transaction is rolled back and run again.
//   P2. An advisory lock per target keeps two takers from splitting one group between them.
//       Registering and republishing also lease rows, without that lock. If rows were taken past a
//       row that was leased in between, the transaction rolls back and takes again.
//   P3. A call that meets a lock is repeated until it outlasts a frozen holder (W4 of
//       ledger/sql-limits.ts), and only then fails.

import type { PoolClient } from "pg";
import type { DurationMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import { type ChangeRows, outboxChanges, type RowTransition } from "../../ledger/outbox-calls.ts";
import { fromOutboxColumns } from "../../ledger/outbox-columns.ts";
import { stepRegister } from "../../ledger/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
import { retryBusy } from "../../ledger/sql-limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  Outbox,
  OutboxEntry,
  OutboxLease,
  OutboxRow,
  RegisterResult,
} from "../../ports/outbox.ts";
import { postgresOutboxFault } from "./faults.ts";
import { openDatabase } from "./open-database.ts";
import {
  findRow,
  insertRow,
  lockRows,
  PASSED,
  PURGE,
  selectStats,
  TAKE,
  UNSETTLED,
  updateRow,
} from "./outbox-rows.ts";
import { migratePostgres, POSTGRES_OUTBOX_MIGRATIONS } from "./schema.ts";
import { upkeep } from "./time-limits.ts";
import { CONFLICT, inPostgresTransaction, type OrConflict } from "./transaction.ts";

export interface PostgresOutboxOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly retentionMs?: DurationMs;
  readonly connectionsMax?: number;
  /** Timeout of a statement, except upkeep and migrations. Default: 15 s. */
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
  const { clock } = ports;
  const { url, connectionsMax = CONNECTIONS_MAX_DEFAULT } = options;
  const { retentionMs = RETENTION_MS_DEFAULT, statementMsMax } = options;
  const { pool, guard, close } = await openDatabase(
    { name: "outbox", faultOf: postgresOutboxFault, url, connectionsMax, statementMsMax },
    (opened) => migratePostgres(opened, "outbox", POSTGRES_OUTBOX_MIGRATIONS),
  );
  const write = <T>(work: (client: PoolClient) => Promise<OrConflict<T>>) =>
    guard(() => retryBusy(() => inPostgresTransaction(pool, "outbox", work)));
  const change: ChangeRows = (target, keys, transition) =>
    write((client) => changeRows(client, target, keys, transition));

  return {
    register: (target, entries, lease) =>
      write((client) => registerAll(client, clock, { target, entries, lease })),
    take: (target, limit, lease) =>
      write((client) => takeRows(client, clock, { target, limit, lease })),
    ...outboxChanges(change, clock.now, retentionMs),
    unsettled: (target, { sentBefore, afterSeq, limit }) =>
      guard(async () => {
        const { rows } = await pool.query(UNSETTLED, [target, afterSeq, sentBefore, limit]);
        return rows.map(fromOutboxColumns);
      }),
    find: (target, key) => guard(() => findRow(pool, target, key)),
    stats: (target) => guard(() => selectStats(pool, target)),
    purge: (limit) =>
      guard(async () => (await pool.query(upkeep(PURGE, [clock.now(), limit]))).rowCount ?? 0),
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
  clock: Clock,
  asked: { readonly target: string; readonly limit: number; readonly lease: OutboxLease },
): Promise<OrConflict<OutboxRow[]>> {
  const { target, limit, lease } = asked;
  const lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))"; // P2
  await client.query(lock, [target, TAKE_LOCK]);
  const now = clock.now();
  const until = addMs(now, lease.leaseMs);
  const { rows } = await client.query(TAKE, [target, lease.owner, now, limit, until]);
  const leased = rows.map(fromOutboxColumns).sort((a, b) => a.seq - b.seq);
  const grouped = leased.filter(({ groupId }) => groupId !== null).map(({ seq }) => seq);
  if (grouped.length === 0) return leased;
  const passed = await client.query(PASSED, [grouped, lease.owner, now]);
  return passed.rows.length > 0 ? CONFLICT : leased;
}

async function registerAll(
  client: PoolClient,
  clock: Clock,
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
    const step = stepRegister(previous, entry, lease, { now: clock.now(), seq: 0 });
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
