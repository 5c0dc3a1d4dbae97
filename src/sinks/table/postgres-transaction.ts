// PostgreSQL transaction of a sink: statements that are sealed as a whole or not at all.
//   X1. A transaction that lost against another is run again, up to TRIES_MAX times: its statements
//       are the same, and decide anew.
//   X2. A connection may die while it is ours, between two statements, too. The pool watches idle
//       ones only, so we listen as long as we hold it: an error nobody hears ends the process.
//   X3. A connection goes back to the pool after a COMMIT or ROLLBACK that was answered. After any
//       failure its state is unknown, so it is closed, which rolls back what was not sealed.

import type { Pool, PoolClient } from "pg";
import { lostTransaction } from "../../ledger/sql-state.ts";

const TRIES_MAX = 16;

/** What becomes of what was done: "undo" ends the transaction without a trace. */
type Verdict = "seal" | "undo";
type Work = (client: PoolClient) => Promise<Verdict>;

/** Failures are the driver's own. */
export async function inSinkTransaction(pool: Pool, work: Work): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await tryTransaction(pool, work);
    } catch (error) {
      if (!lostTransaction(error) || tries >= TRIES_MAX) throw error; // X1
    }
  }
}

/** The statement that is under way fails with the loss, or the next one does. */
function toldByNextStatement(): void {}

async function tryTransaction(pool: Pool, work: Work): Promise<void> {
  const client = await pool.connect();
  client.on("error", toldByNextStatement); // X2
  let ended = false;
  try {
    await client.query("BEGIN");
    const verdict = await work(client);
    await client.query(verdict === "seal" ? "COMMIT" : "ROLLBACK");
    ended = true;
  } finally {
    client.release(!ended); // X3
    client.removeListener("error", toldByNextStatement);
  }
}
