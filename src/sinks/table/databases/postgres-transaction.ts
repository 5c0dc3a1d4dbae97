// PostgreSQL transaction of a sink: statements that commit as a whole or not at all.
//   X1. A transaction that loses to a concurrent one is run again, up to TRIES_MAX times. Its
//       statements are the same and decide again on current rows. One that meets a lock or a limit
//       of the server is run again as well (W4 of sql/sql-limits.ts).
//   X2. A connection may also die between two statements while it is checked out. The pool watches
//       idle connections only, so the transaction listens itself: an unhandled "error" event would
//       end the process.
//   X3. A connection returns to the pool only after the server answered COMMIT or ROLLBACK. After
//       any failure its state is unknown, so it is closed, which rolls back uncommitted work.
//   X4. The server ends a transaction that waits for a lock, runs or is silent for too long (W1 of
//       sql/sql-limits.ts), so a frozen process does not keep its locks.

import type { Pool, PoolClient } from "pg";
import { retryErrors } from "../../../core/bounded-retry.ts";
import { beginWithin, retryBusy, type SqlLimits } from "../../../stores/postgres/sql/sql-limits.ts";
import {
  lostTransaction,
  SQL_IDLE_IN_TRANSACTION,
  sqlState,
} from "../../../stores/postgres/sql/sql-state.ts";

const TRIES_MAX = 16;

type Verdict = "commit" | "roll-back";
type Work = (client: PoolClient) => Promise<Verdict>;

/** Failures are the driver's own. */
export function inSinkTransaction(pool: Pool, limits: SqlLimits, work: Work): Promise<void> {
  const bounds = { triesMax: TRIES_MAX }; // X1
  return retryBusy(() =>
    retryErrors(bounds, lostTransaction, () => tryTransaction(pool, work, limits)),
  );
}

async function tryTransaction(pool: Pool, work: Work, limits: SqlLimits): Promise<void> {
  const client = await pool.connect();
  let lost: unknown;
  // The current statement fails with the lost connection, or the next one does.
  const onLost = (error: unknown) => {
    lost ??= error;
  };
  client.on("error", onLost); // X2
  let ended = false;
  try {
    await client.query(beginWithin(limits)); // X4
    const verdict = await work(client);
    await client.query(verdict === "commit" ? "COMMIT" : "ROLLBACK");
    ended = true;
  } catch (error) {
    throw sqlState(lost) === SQL_IDLE_IN_TRANSACTION ? lost : error; // X4
  } finally {
    client.release(!ended); // X3
    client.removeListener("error", onLost);
  }
}
