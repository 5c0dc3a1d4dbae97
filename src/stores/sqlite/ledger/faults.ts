// Faults: maps SQLite result codes to failures of a ledger or an outbox.

import { type ErrorCode, reasonOf, TidegateError } from "../../../core/errors.ts";
import { isBusy, isCorrupt, isUnavailable } from "../sqlite-code.ts";

/** The TidegateError for an error of the driver, or the error itself if it is a bug. */
export function sqliteLedgerFault(error: unknown, path: string): unknown {
  return faultOf(error, `the ledger ${path}`, "TG_LEDGER_UNAVAILABLE");
}

/** Like `sqliteLedgerFault`, for an outbox. */
export function sqliteOutboxFault(error: unknown, path: string): unknown {
  return faultOf(error, `the outbox ${path}`, "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError) return error;
  if (isUnavailable(error)) {
    const trouble = isBusy(error)
      ? "is busy; another process holds its write lock, and may be frozen"
      : "cannot be used";
    const message = `${what} ${trouble}: ${reasonOf(error)}`;
    return new TidegateError(unavailable, message, { cause: error });
  }
  if (isCorrupt(error)) {
    const message = `${what} is damaged or not a SQLite file: ${reasonOf(error)}`;
    return new TidegateError("TG_STORE_CORRUPT", message, { cause: error });
  }
  return error;
}

/**
 * Like `sqliteLedgerFault`, for a sink's statement: errors not caused by the store are the sink's.
 */
export function sqliteSinkFault(error: unknown, path: string): unknown {
  const fault = sqliteLedgerFault(error, path);
  if (fault !== error || error instanceof TidegateError) return fault;
  const message = `a sink's statement failed: ${reasonOf(error)}`;
  return new TidegateError("TG_SINK_REFUSED", message, { cause: error });
}
