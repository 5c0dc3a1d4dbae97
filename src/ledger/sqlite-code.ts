// SQLite's primary result codes, as far as whoever uses a file must tell them apart.

const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

/** The file cannot be used now, and perhaps can be later. */
const UNAVAILABLE: ReadonlySet<number> = new Set([
  ...[PERM, BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL],
]);

/** What Node throws for an integer beyond its range, and for a number where text should be. */
const WRONG_VALUE_CODES = new Set(["ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE"]);

/** The primary result code of an error that node:sqlite threw, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** The disk had no space for a write. No sync failed, so what was synced before is still there. */
export function isFull(error: unknown): boolean {
  return sqliteCode(error) === FULL;
}

export function cannotOpen(error: unknown): boolean {
  return sqliteCode(error) === CANTOPEN;
}

export function isUnavailable(error: unknown): boolean {
  return UNAVAILABLE.has(sqliteCode(error) ?? 0);
}

/** SQLite met a broken page, or what is no file of its own. */
export function isCorrupt(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** As `isCorrupt`; also if a value is not of the type that was written there. */
export function isDamage(error: unknown): boolean {
  if (sqliteCode(error) !== null) return isCorrupt(error);
  return error instanceof Error && "code" in error && WRONG_VALUE_CODES.has(String(error.code));
}
