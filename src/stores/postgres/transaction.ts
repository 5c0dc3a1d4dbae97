// Transaction: database work that commits as a whole or not at all.
//   T1. Work that loses to a concurrent transaction is rolled back and run again, up to TRIES_MAX
//       times. Each further try needs another process to have won in the meantime.
//   T2. A connection may also die between two statements while it is checked out. The pool watches
//       idle connections only, so the transaction listens itself: an unhandled "error" event would
//       end the process.
//   T3. A connection returns to the pool only after the server answered COMMIT or ROLLBACK. After
//       any failure its state is unknown, so it is closed, which rolls back uncommitted work.

import type { Pool, PoolClient } from "pg";
import { retryBounded } from "../../core/bounded-retry.ts";
import { lostTransaction } from "../../ledger/sql-state.ts";

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
): Promise<T> {
  return retryConflicts(what, () => tryTransaction(pool, work));
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

/** The current statement fails with the lost connection, or the next one does. */
function reportedByNextStatement(): void {}

async function tryTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<OrConflict<T>>,
): Promise<OrConflict<T>> {
  const client = await pool.connect();
  client.on("error", reportedByNextStatement); // T2
  let ended = false;
  try {
    await client.query("BEGIN");
    const value = await work(client);
    await client.query(value === CONFLICT ? "ROLLBACK" : "COMMIT");
    ended = true;
    return value;
  } finally {
    client.release(!ended); // T3
    client.removeListener("error", reportedByNextStatement);
  }
}
