// SQLite's result codes, as far as the store must tell them apart.

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** What Node throws for an integer beyond its range, and for a number where text should be. */
const WRONG_VALUE_CODES = new Set(["ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE"]);

/** The primary result code of an error that node:sqlite threw, or null for any other error. */
function primaryCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error)) return null;
  return typeof error.errcode === "number" ? error.errcode & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  return primaryCode(error) === SQLITE_BUSY;
}

export function cannotOpen(error: unknown): boolean {
  return primaryCode(error) === SQLITE_CANTOPEN;
}

/** SQLite met a broken page, or a value is not of the type that was written there. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error);
  if (code !== null) return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
  return error instanceof Error && "code" in error && WRONG_VALUE_CODES.has(String(error.code));
}
