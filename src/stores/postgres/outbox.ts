// PostgreSQL outbox: the law over a table that many machines share.
//   P1. The law is told only of rows that are locked, or were absent and are then inserted; if an
//       insert finds that another came first, the transaction is rolled back and run again.
//   P2. Takers exclude one another per target by an advisory lock, so that two of them cannot share
//       out one group between them. Registering and republishing lease rows, too, without it: what
//       was taken past a row that one of them leased meanwhile is given back and taken anew.

import type { PoolClient } from "pg";
import type { DurationMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import { type ChangeRows, outboxChanges, type RowTransition } from "../../ledger/outbox-calls.ts";
import { fromOutboxColumns } from "../../ledger/outbox-columns.ts";
import { stepRegister } from "../../ledger/outbox-transitions.ts";
import { RETENTION_MS_DEFAULT } from "../../ledger/record-state.ts";
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
import { inPostgresTransaction, LOST, type Raced } from "./transaction.ts";

export interface PostgresOutboxOptions {
  /** `postgres://user:password@host:port/database` */
  readonly url: string;
  readonly retentionMs?: DurationMs;
  readonly connectionsMax?: number;
  /** How long a statement may be unanswered, but for upkeep and migrations: 15 s if unsaid. */
  readonly statementMsMax?: DurationMs;
}

const CONNECTIONS_MAX_DEFAULT = 5;
/** Tells our advisory locks from others on the same names. */
const TAKE_LOCK = 7_412_530_072;

/** Opens the outbox in a PostgreSQL database; makes its table if it is missing. */
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
  const write = <T>(work: (client: PoolClient) => Promise<Raced<T>>) =>
    guard(() => inPostgresTransaction(pool, "a write", work));
  const change: ChangeRows = (target, keys, law) =>
    write((client) => changeRows(client, target, keys, law));

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

/** Locks the rows, then saves what the law makes of each. */
async function changeRows(
  client: PoolClient,
  target: string,
  keys: readonly string[],
  law: RowTransition,
): Promise<OutboxRow[]> {
  const rows = await lockRows(client, target, keys);
  const changed = keys.map((key) => law(rows.get(key), key)).filter((row) => row !== null);
  for (const row of changed) await updateRow(client, row);
  return changed;
}

async function takeRows(
  client: PoolClient,
  clock: Clock,
  asked: { readonly target: string; readonly limit: number; readonly lease: OutboxLease },
): Promise<Raced<OutboxRow[]>> {
  const { target, limit, lease } = asked;
  const lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, $2))"; // P2
  await client.query(lock, [target, TAKE_LOCK]);
  const now = clock.now();
  const until = addMs(now, lease.leaseMs);
  const { rows } = await client.query(TAKE, [target, lease.owner, now, limit, until]);
  const taken = rows.map(fromOutboxColumns).sort((a, b) => a.seq - b.seq);
  const grouped = taken.filter(({ groupId }) => groupId !== null).map(({ seq }) => seq);
  if (grouped.length === 0) return taken;
  const passed = await client.query(PASSED, [grouped, lease.owner, now]);
  return passed.rows.length > 0 ? LOST : taken;
}

async function registerAll(
  client: PoolClient,
  clock: Clock,
  asked: {
    readonly target: string;
    readonly entries: readonly OutboxEntry[];
    readonly lease: OutboxLease;
  },
): Promise<Raced<RegisterResult[]>> {
  const { target, entries, lease } = asked;
  const keys = [...new Set(entries.map(({ key }) => key))];
  const rows = await lockRows(client, target, keys);
  const results: RegisterResult[] = [];
  for (const entry of entries) {
    const former = rows.get(entry.key);
    const step = stepRegister(former, entry, lease, { now: clock.now(), seq: 0 });
    if (step.save === null) results.push(step.result);
    else if (step.fresh) {
      const row = await insertRow(client, target, step.save, former);
      if (row === undefined) return LOST; // P1
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
