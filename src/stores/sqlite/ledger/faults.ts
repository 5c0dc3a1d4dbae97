// Faults: what SQLite's result codes mean to a ledger or an outbox.

import { type ErrorCode, reasonOf, TidegateError } from "../../../core/errors.ts";
import { isCorrupt, isUnavailable } from "../../../ledger/sqlite-code.ts";

/** The operating failure behind an error of the driver, or the error itself if it is none. */
export function sqliteLedgerFault(error: unknown, path: string): unknown {
  return faultOf(error, `the ledger ${path}`, "TG_LEDGER_UNAVAILABLE");
}

/** As `ledgerFault`, for an outbox. */
export function sqliteOutboxFault(error: unknown, path: string): unknown {
  return faultOf(error, `the outbox ${path}`, "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError) return error;
  if (isUnavailable(error)) {
    const message = `${what} cannot be used: ${reasonOf(error)}`;
    return new TidegateError(unavailable, message, { cause: error });
  }
  if (isCorrupt(error)) {
    const message = `${what} is damaged or no SQLite file: ${reasonOf(error)}`;
    return new TidegateError("TG_STORE_CORRUPT", message, { cause: error });
  }
  return error;
}

/** As `ledgerFault`, for a sink's own statement: what is not the store's fault is the sink's. */
export function sqliteSinkFault(error: unknown, path: string): unknown {
  const fault = sqliteLedgerFault(error, path);
  if (fault !== error || error instanceof TidegateError) return fault;
  const message = `a sink's statement failed: ${reasonOf(error)}`;
  return new TidegateError("TG_SINK_REFUSED", message, { cause: error });
}
