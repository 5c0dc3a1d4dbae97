// Faults: what SQLite's result codes mean to a ledger or an outbox.

import { type ErrorCode, TidegateError } from "../../core/errors.ts";

/** Primary result codes, from SQLite's documentation. */
const CODE = {
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
} as const;
const MORE = { FULL: 13, CANTOPEN: 14, PROTOCOL: 15, NOTADB: 26 } as const;

const UNAVAILABLE: ReadonlySet<number> = new Set([
  CODE.PERM,
  CODE.BUSY,
  CODE.LOCKED,
  CODE.NOMEM,
  CODE.READONLY,
  CODE.IOERR,
  MORE.FULL,
  MORE.CANTOPEN,
  MORE.PROTOCOL,
]);
const CORRUPT: ReadonlySet<number> = new Set([CODE.CORRUPT, MORE.NOTADB]);

function primaryCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : null;
}

/** The operating failure behind an error of the driver, or the error itself if it is none. */
export function ledgerFault(error: unknown, path: string): unknown {
  return faultOf(error, `the ledger ${path}`, "TG_LEDGER_UNAVAILABLE");
}

/** As `ledgerFault`, for an outbox. */
export function outboxFault(error: unknown, path: string): unknown {
  return faultOf(error, `the outbox ${path}`, "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError) return error;
  const code = primaryCode(error);
  const reason = error instanceof Error ? error.message : String(error);
  if (code !== null && UNAVAILABLE.has(code)) {
    return new TidegateError(unavailable, `${what} cannot be used: ${reason}`, { cause: error });
  }
  if (code !== null && CORRUPT.has(code)) {
    const message = `${what} is damaged or no SQLite file: ${reason}`;
    return new TidegateError("TG_STORE_CORRUPT", message, { cause: error });
  }
  return error;
}

/** As `ledgerFault`, for a sink's own statement: what is not the store's fault is the sink's. */
export function sinkFault(error: unknown, path: string): unknown {
  const fault = ledgerFault(error, path);
  if (fault !== error || error instanceof TidegateError) return fault;
  const reason = error instanceof Error ? error.message : String(error);
  return new TidegateError("TG_SINK_REFUSED", `a sink's statement failed: ${reason}`, {
    cause: error,
  });
}
