// Faults: maps errors of PostgreSQL and of the network to failures of a ledger or an outbox.

import { InvariantError } from "../../core/assert.ts";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";
import { fencedFault } from "./sql/schema-fence.ts";
import {
  isSqlBusy,
  isSqlLocked,
  lostTransaction,
  SQL_MISSING_TABLE,
  SQL_NO_PRIVILEGE,
  sqlState,
} from "./sql/sql-state.ts";

/**
 * Classes: syntax and access rules, bad data, violated constraints. A bug in this store or a sink.
 */
const OWN_FAULT = /^(42|22|23)/;

/** The TidegateError for an error of the driver, or the error itself if it is a bug. */
export function postgresLedgerFault(error: unknown): unknown {
  if (sqlState(error) === SQL_MISSING_TABLE) {
    const message = "the database contains no ledger; run `tidegate ledger init` first";
    return new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
  const code = isSqlLocked(error) ? "TG_LEDGER_BUSY" : "TG_LEDGER_UNAVAILABLE";
  return faultOf(error, "the ledger's database", code);
}

/** Like `postgresLedgerFault`, for an outbox, which creates its own table. */
export function postgresOutboxFault(error: unknown): unknown {
  return faultOf(error, "the outbox's database", "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const fenced = fencedFault(error);
  if (fenced !== null) return fenced;
  const state = sqlState(error);
  if (state !== SQL_NO_PRIVILEGE && OWN_FAULT.test(state)) return error;
  const trouble = isSqlBusy(error)
    ? "is busy; another transaction held its rows or the server for too long"
    : "cannot be used";
  const message = `${what} ${trouble}: ${reasonOf(error)}`;
  return new TidegateError(unavailable, message, { cause: error });
}

/**
 * Like `postgresLedgerFault`, for a sink's statement: errors not caused by the database are the
 * sink's.
 */
export function postgresSinkFault(error: unknown): unknown {
  const state = sqlState(error);
  if (lostTransaction(error) || isSqlBusy(error)) return error; // Run again.
  if (!/^[0-9A-Z]{5}$/.test(state) || /^(08|53|57|58)/.test(state)) return error;
  const message = `a sink's statement failed: ${reasonOf(error)}`;
  return new TidegateError("TG_SINK_REFUSED", message, { cause: error });
}
