// SQL limits: the time limits that a PostgreSQL server enforces itself. A frozen process keeps its
// connection and its locks, so its own timeouts do not help the others.
//   W1. Every transaction sets its limits with BEGIN, in one round trip. They end with it, so they
//       also work behind a pooler that shares connections, and need no startup parameters.
//   W2. The server ends a transaction whose client is silent for IDLE_MS_MAX. That releases its
//       locks, and nothing of it is written.
//   W3. A statement waits for a lock at most LOCK_MS_MAX, and the server ends it before the client
//       stops waiting. So no backend waits for a row on behalf of a client that has left.
//   W4. A lock that is not granted means "busy", not "down". BUSY_TRIES_MAX tries together wait
//       longer than IDLE_MS_MAX, so they outlast a frozen holder.

import { retryBounded } from "../../../core/bounded-retry.ts";
import { type DurationMs, durationMs, seconds } from "../../../core/units.ts";
import { isSqlBusy, SQL_CANCELLED, sqlState } from "./sql-state.ts";

/** The longest silence of a client inside a transaction (W2). */
export const IDLE_MS_MAX: DurationMs = seconds(5);
/** The longest wait for one lock (W3); far below a lease. */
export const LOCK_MS_MAX: DurationMs = seconds(2);
/** Tries of a call that meets a lock (W4). */
export const BUSY_TRIES_MAX = 4;
/** A cancelled statement has already used up its full limit. */
const CANCELLED_TRIES_MAX = 2;

export interface SqlLimits {
  readonly lockMs: DurationMs;
  readonly statementMs: DurationMs;
  /** An expression that is evaluated before the first statement (F1 of schema-fence.ts). */
  readonly fence?: string | undefined;
}

/** Limits for a client that waits `clientMs` for a statement: the server's end first (W3). */
export function sqlLimits(clientMs: DurationMs): SqlLimits {
  const statementMs = durationMs(Math.ceil(clientMs * 0.9));
  return { statementMs, lockMs: durationMs(Math.min(LOCK_MS_MAX, Math.ceil(clientMs / 2))) };
}

/** Limits for upgrades and layouts, which may wait for another process to finish its own. */
export function patientLimits(clientMs: DurationMs): SqlLimits {
  return { statementMs: clientMs, lockMs: clientMs };
}

/** Begins a transaction with limits, for a driver that sends several statements at once (W1). */
export function beginWithin({ lockMs, statementMs, fence }: SqlLimits): string {
  return `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS_MAX};
    SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${statementMs};
    ${fence === undefined ? "" : `SELECT ${fence}`}`;
}

/** Repeats work that is busy (W4); throws the last error. */
export async function retryBusy<T>(work: () => Promise<T>): Promise<T> {
  const bounds = { triesMax: BUSY_TRIES_MAX };
  const tried = await retryBounded<T, unknown>(bounds, async (nth) => {
    try {
      return { kind: "done", value: await work() };
    } catch (error) {
      const cancelled = sqlState(error) === SQL_CANCELLED;
      if (!isSqlBusy(error) || (cancelled && nth >= CANCELLED_TRIES_MAX)) throw error;
      return { kind: "retry", reason: error };
    }
  });
  if (tried.kind === "retry") throw tried.reason;
  return tried.value;
}
