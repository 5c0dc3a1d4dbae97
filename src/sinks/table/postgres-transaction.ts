// PostgreSQL transaction of a sink: statements that commit as a whole or not at all.
//   X1. A transaction that loses to a concurrent one is run again, up to TRIES_MAX times. Its
//       statements are the same and decide again on current rows.
//   X2. A connection may also die between two statements while it is checked out. The pool watches
//       idle connections only, so the transaction listens itself: an unhandled "error" event would
//       end the process.
//   X3. A connection returns to the pool only after the server answered COMMIT or ROLLBACK. After
//       any failure its state is unknown, so it is closed, which rolls back uncommitted work.

import type { Pool, PoolClient } from "pg";
import { retryErrors } from "../../core/bounded-retry.ts";
import { lostTransaction } from "../../ledger/sql-state.ts";

const TRIES_MAX = 16;

type Verdict = "commit" | "roll-back";
type Work = (client: PoolClient) => Promise<Verdict>;

/** Failures are the driver's own. */
export function inSinkTransaction(pool: Pool, work: Work): Promise<void> {
  const bounds = { triesMax: TRIES_MAX }; // X1
  return retryErrors(bounds, lostTransaction, () => tryTransaction(pool, work));
}

/** The current statement fails with the lost connection, or the next one does. */
function reportedByNextStatement(): void {}

async function tryTransaction(pool: Pool, work: Work): Promise<void> {
  const client = await pool.connect();
  client.on("error", reportedByNextStatement); // X2
  let ended = false;
  try {
    await client.query("BEGIN");
    const verdict = await work(client);
    await client.query(verdict === "commit" ? "COMMIT" : "ROLLBACK");
    ended = true;
  } finally {
    client.release(!ended); // X3
    client.removeListener("error", reportedByNextStatement);
  }
}
