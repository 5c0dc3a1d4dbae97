// SQLSTATE: PostgreSQL's codes, as far as whoever uses a database must tell them apart.

/** Of a transaction that lost against another and may simply be run again. */
const LOST: ReadonlySet<string> = new Set(["40001", "40P01"]);

export const SQL_NO_PRIVILEGE = "42501";
export const SQL_MISSING_TABLE = "42P01";

/** The code of an error that the driver threw; "" if it has none, as those of the network. */
export function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

export function lostTransaction(error: unknown): boolean {
  return LOST.has(sqlState(error));
}
