// SQL state: the PostgreSQL error codes that stores and sinks distinguish.

/** Codes of a transaction that lost to a concurrent one and can be run again. */
const LOST: ReadonlySet<string> = new Set(["40001", "40P01"]);

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
