// SQL state: the PostgreSQL error codes that stores and sinks distinguish.

/** Codes of a transaction that lost to a concurrent one and can be run again. */
const LOST: ReadonlySet<string> = new Set(["40001", "40P01"]);

const SQL_LOCK_NOT_GRANTED = "55P03";
/** The server ended a statement at its time limit. */
export const SQL_CANCELLED = "57014";
/** The server ended a connection that was silent inside a transaction. */
export const SQL_IDLE_IN_TRANSACTION = "25P03";

/** Codes of work that met a lock or a limit of the server. Nothing of it was written. */
const BUSY: ReadonlySet<string> = new Set([
  SQL_LOCK_NOT_GRANTED,
  SQL_CANCELLED,
  SQL_IDLE_IN_TRANSACTION,
]);

/** A row violates a unique index. */
export const SQL_UNIQUE = "23505";
export const SQL_NO_PRIVILEGE = "42501";
export const SQL_MISSING_TABLE = "42P01";

/** The code of an error of the driver; "" without one, as for network errors. */
export function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

export function lostTransaction(error: unknown): boolean {
  return LOST.has(sqlState(error));
}

/** Whether work met a lock, or lost its own because the process was frozen: the server is up. */
export function isSqlLocked(error: unknown): boolean {
  const state = sqlState(error);
  return state === SQL_LOCK_NOT_GRANTED || state === SQL_IDLE_IN_TRANSACTION;
}

/** Whether work was ended by a server that is up: it may succeed if it is repeated soon. */
export function isSqlBusy(error: unknown): boolean {
  return BUSY.has(sqlState(error));
}
