// Faults: what PostgreSQL's and the network's errors mean to a ledger or an outbox.

import { InvariantError } from "../../core/assert.ts";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";
import {
  lostTransaction,
  SQL_MISSING_TABLE,
  SQL_NO_PRIVILEGE,
  sqlState,
} from "../../ledger/sql-state.ts";

/** Classes: syntax and access rules, bad data, violated constraints. Of our making, or a sink's. */
const OWN_FAULT = /^(42|22|23)/;

/** The operating failure behind an error of the driver, or the error itself if it is none. */
export function postgresLedgerFault(error: unknown): unknown {
  if (sqlState(error) === SQL_MISSING_TABLE) {
    const message = "the database holds no ledger; run `tidegate ledger init` first";
    return new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
  return faultOf(error, "the ledger's database", "TG_LEDGER_UNAVAILABLE");
}

/** As `ledgerFault`, for an outbox, which makes its own table. */
export function postgresOutboxFault(error: unknown): unknown {
  return faultOf(error, "the outbox's database", "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const state = sqlState(error);
  if (state !== SQL_NO_PRIVILEGE && OWN_FAULT.test(state)) return error;
  const message = `${what} cannot be used: ${reasonOf(error)}`;
  return new TidegateError(unavailable, message, { cause: error });
}

/** As `ledgerFault`, for a sink's own statement: what is not the database's fault is the sink's. */
export function postgresSinkFault(error: unknown): unknown {
  const state = sqlState(error);
  if (lostTransaction(error) || !/^[0-9A-Z]{5}$/.test(state) || /^(08|53|57|58)/.test(state))
    return error;
  const message = `a sink's statement failed: ${reasonOf(error)}`;
  return new TidegateError("TG_SINK_REFUSED", message, { cause: error });
}
