// Faults: what PostgreSQL's and the network's errors mean to a ledger.

import { InvariantError } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";

/** SQLSTATE of a transaction that lost against another and may simply be run again. */
const RETRYABLE: ReadonlySet<string> = new Set(["40001", "40P01"]);
/** Classes: syntax and access rules, bad data, violated constraints. Of our making, or a sink's. */
const OWN_FAULT = /^(42|22|23)/;
const MISSING_TABLE = "42P01";
const NO_PRIVILEGE = "42501";

function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

export function isRetryable(error: unknown): boolean {
  return RETRYABLE.has(sqlState(error));
}

function reasonOf(error: unknown): string {
  // A refused connection to a name with several addresses has its reasons only in the parts.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** The operating failure behind an error of the driver, or the error itself if it is none. */
export function ledgerFault(error: unknown): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const state = sqlState(error);
  const cause = error;
  if (state === MISSING_TABLE) {
    const message = "the database holds no ledger; run `tidegate ledger init` first";
    return new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
  if (state !== NO_PRIVILEGE && OWN_FAULT.test(state)) return error;
  const message = `the ledger's database cannot be used: ${reasonOf(error)}`;
  return new TidegateError("TG_LEDGER_UNAVAILABLE", message, { cause });
}

/** As `ledgerFault`, for an outbox, which makes its own table. */
export function outboxFault(error: unknown): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const state = sqlState(error);
  if (state !== NO_PRIVILEGE && OWN_FAULT.test(state)) return error;
  const message = `the outbox's database cannot be used: ${reasonOf(error)}`;
  return new TidegateError("TG_OUTBOX_UNAVAILABLE", message, { cause: error });
}

/** As `ledgerFault`, for a sink's own statement: what is not the database's fault is the sink's. */
export function sinkFault(error: unknown): unknown {
  const state = sqlState(error);
  if (isRetryable(error) || !/^[0-9A-Z]{5}$/.test(state) || /^(08|53|57|58)/.test(state))
    return error;
  const message = `a sink's statement failed: ${reasonOf(error)}`;
  return new TidegateError("TG_SINK_REFUSED", message, { cause: error });
}
