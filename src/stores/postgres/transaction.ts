// Transaction: database work that commits as a whole or not at all.
//   T1. Work that loses to a concurrent transaction is rolled back and run again, up to TRIES_MAX
//       times. Each further try needs another process to have won in the meantime.
//   T2. A connection may also die between two statements while it is checked out. The pool watches
//       idle connections only, so the transaction listens itself: an unhandled "error" event would
//       end the process.
//   T3. A connection returns to the pool only after the server answered COMMIT or ROLLBACK. After
//       any other failure its state is unknown, so it is closed, which rolls back uncommitted work.
//   T4. The server ends a transaction that waits for a lock, runs or is silent for too long (W1 of
//       sql/sql-limits.ts). The caller gets that error, also if no statement was running.

import type { Pool, PoolClient } from "pg";
import { retryBounded } from "../../core/bounded-retry.ts";
import { beginWithin, type SqlLimits } from "./sql/sql-limits.ts";
import { isSqlBusy, lostTransaction, SQL_IDLE_IN_TRANSACTION, sqlState } from "./sql/sql-state.ts";
import { limitsOf } from "./time-limits.ts";

const TRIES_MAX = 16;
const RETRY = { kind: "retry", reason: undefined } as const;

/** Work returns this if it finds that a concurrent transaction came first. */
export const CONFLICT: unique symbol = Symbol("write conflict");
export type OrConflict<T> = T | typeof CONFLICT;

/** `what` names the work in the error after too many conflicts. */
export function inPostgresTransaction<T>(
  pool: Pool,
  what: string,
  work: (client: PoolClient) => Promise<OrConflict<T>>,
  limits: SqlLimits = limitsOf(pool),
): Promise<T> {
  return retryConflicts(what, () => tryTransaction(pool, work, limits));
}

/** For work of one statement, which is its own transaction; T1 applies to it as well. */
export async function retryConflicts<T>(
  what: string,
  work: () => Promise<OrConflict<T>>,
): Promise<T> {
  const tried = await retryBounded<T, undefined>({ triesMax: TRIES_MAX }, async () => {
    try {
      const value = await work();
      return value === CONFLICT ? RETRY : { kind: "done", value };
    } catch (error) {
      if (!lostTransaction(error)) throw error;
      return RETRY;
    }
  });
  if (tried.kind === "done") return tried.value;
  // The guard of the store adds the code.
  throw new Error(`${what} contention: gave up after ${TRIES_MAX} write conflicts`);
}

async function tryTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<OrConflict<T>>,
  limits: SqlLimits,
): Promise<OrConflict<T>> {
  const client = await pool.connect();
  let lost: unknown;
  // The current statement fails with the lost connection, or the next one does.
  const onLost = (error: unknown) => {
    lost ??= error;
  };
  client.on("error", onLost); // T2
  let ended = false;
  try {
    await client.query(beginWithin(limits)); // T4
    const value = await work(client);
    await client.query(value === CONFLICT ? "ROLLBACK" : "COMMIT");
    ended = true;
    return value;
  } catch (error) {
    if (sqlState(lost) === SQL_IDLE_IN_TRANSACTION) throw lost; // T4
    if (isSqlBusy(error)) ended = await rolledBack(client);
    throw error;
  } finally {
    client.release(!ended); // T3
    client.removeListener("error", onLost);
  }
}

/** Whether the server answered ROLLBACK, so that the connection can be used again (T3). */
async function rolledBack(client: PoolClient): Promise<boolean> {
  try {
    await client.query("ROLLBACK");
    return true;
  } catch {
    return false; // The caller reports the failure that led here.
  }
}
