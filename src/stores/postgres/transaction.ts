// Transaction: work on the database that is done as a whole or not at all.
//   T1. Work that lost a race is rolled back and run again, up to TRIES_MAX times: each further try
//       needs another process to have won meanwhile.
//   T2. A connection may die while it is ours, between two statements, too. The pool watches idle
//       ones only, so we listen as long as we hold it: an error nobody hears ends the process.
//   T3. A connection goes back to the pool after a COMMIT or ROLLBACK that was answered. After any
//       failure its state is unknown, so it is closed, which rolls back what was not sealed.

import type { Pool, PoolClient } from "pg";
import { lostTransaction } from "../../ledger/sql-state.ts";

const TRIES_MAX = 16;

/** What work answers if it found that another came first. */
export const LOST: unique symbol = Symbol("another came first");
export type Raced<T> = T | typeof LOST;

/** `what` begins the sentence that tells of too many lost races. */
export function inPostgresTransaction<T>(
  pool: Pool,
  what: string,
  work: (client: PoolClient) => Promise<Raced<T>>,
): Promise<T> {
  return untilWon(what, () => tryTransaction(pool, work));
}

/** For work that is one statement, and so a transaction of its own; T1 holds for it, too. */
export async function untilWon<T>(what: string, work: () => Promise<Raced<T>>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    try {
      const value = await work();
      if (value !== LOST) return value;
    } catch (error) {
      if (!lostTransaction(error)) throw error;
    }
  }
  // The guard of the store gives it its code.
  throw new Error(`${what} lost ${TRIES_MAX} races for the same rows`);
}

/** The statement that is under way fails with the loss, or the next one does. */
function toldByNextStatement(): void {}

async function tryTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Raced<T>>,
): Promise<Raced<T>> {
  const client = await pool.connect();
  client.on("error", toldByNextStatement); // T2
  let ended = false;
  try {
    await client.query("BEGIN");
    const value = await work(client);
    await client.query(value === LOST ? "ROLLBACK" : "COMMIT");
    ended = true;
    return value;
  } finally {
    client.release(!ended); // T3
    client.removeListener("error", toldByNextStatement);
  }
}
