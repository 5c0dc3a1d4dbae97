// SQLite code: the primary result codes of SQLite that stores and sinks distinguish.

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

/** The file is unavailable now, but may become available. */
const UNAVAILABLE: ReadonlySet<number> = new Set([
  PERM,
  BUSY,
  LOCKED,
  NOMEM,
  READONLY,
  IOERR,
  FULL,
  CANTOPEN,
  PROTOCOL,
]);

/** Errors of Node for an integer out of range, and for a number where text is expected. */
const WRONG_VALUE_CODES = new Set(["ERR_OUT_OF_RANGE", "ERR_INVALID_ARG_TYPE"]);

/** The primary result code of an error that node:sqlite threw, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** Errors of the operating system for a write without space: full disk, full quota. */
const FULL_CODES = new Set(["ENOSPC", "EDQUOT"]);

/** The disk had no space for a write. No sync failed, so what was synced before is still there. */
export function isFull(error: unknown): boolean {
  if (sqliteCode(error) !== null) return sqliteCode(error) === FULL;
  return error instanceof Error && "code" in error && FULL_CODES.has(String(error.code));
}

export function cannotOpen(error: unknown): boolean {
  return sqliteCode(error) === CANTOPEN;
}

/** Codes of the operating system, other than Node's own, which report a bug. */
const SYSTEM_CODE = /^E(?!RR_)[A-Z0-9]+$/;

export function isUnavailable(error: unknown): boolean {
  const code = sqliteCode(error);
  if (code !== null) return UNAVAILABLE.has(code);
  return error instanceof Error && "code" in error && SYSTEM_CODE.test(String(error.code));
}

/** SQLite found a broken page, or the file is not a SQLite file. */
export function isCorrupt(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOTADB;
}

/** The file is not a SQLite file. */
export function isNoDatabase(error: unknown): boolean {
  return sqliteCode(error) === NOTADB;
}

/** Like `isCorrupt`; also true if a value does not have the type that was written. */
export function isDamage(error: unknown): boolean {
  if (sqliteCode(error) !== null) return isCorrupt(error);
  return error instanceof Error && "code" in error && WRONG_VALUE_CODES.has(String(error.code));
}
