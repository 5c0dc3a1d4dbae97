// Faults: what DynamoDB's errors mean to a ledger or an outbox. Errors are told apart by name, as
// two copies of the SDK in one process would not recognise each other's classes.

import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { InvariantError } from "../../core/assert.ts";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";

export type DynamoItem = Record<string, AttributeValue>;

export function nameOf(error: unknown): string {
  return (error as { name?: string } | null)?.name ?? "";
}

/** What stood in the way of a conditional write: the item as it is, or undefined for none. */
export interface Conflict {
  /** False when nothing was learned and the item must be read again. */
  readonly known: boolean;
  readonly item: DynamoItem | undefined;
}

const UNKNOWN: Conflict = { known: false, item: undefined };

/** Reasons to start over; any other, such as throttling, is for the caller to wait out. */
const RACES: ReadonlySet<string> = new Set([
  "None",
  "ConditionalCheckFailed",
  "TransactionConflict",
]);

/** Why a transaction was cancelled, as far as one of its items knows. */
interface Reason {
  readonly Code?: string;
  readonly Item?: DynamoItem;
}

/** Only the item whose condition failed comes along; of the others nothing is learned. */
function conflictOf({ Code, Item: item }: Reason): Conflict {
  return Code === "ConditionalCheckFailed" ? { known: true, item } : UNKNOWN;
}

/** The conflicts of a failed write, one per item written, or null if it failed otherwise. */
export function conflictsIn(error: unknown): Conflict[] | null {
  switch (nameOf(error)) {
    case "ConditionalCheckFailedException":
      return [{ known: true, item: (error as { Item?: DynamoItem }).Item }];
    case "TransactionCanceledException": {
      const { CancellationReasons: reasons } = error as { CancellationReasons?: Reason[] };
      const lost = reasons?.every(({ Code = "None" }) => RACES.has(Code)) ?? false;
      return lost && reasons !== undefined ? reasons.map(conflictOf) : null;
    }
    case "TransactionConflictException":
      return [UNKNOWN]; // Of a single item that somebody's transaction is about to change.
    // A transaction still in progress is our own, of an earlier try: its outcome is unknown, and to
    // decide anew might do twice what it is about to do. It is left to the default.
    default:
      return null;
  }
}

/** The operating failure behind an error of the SDK, or the error itself if it is none. */
export function dynamoLedgerFault(error: unknown, table: string): unknown {
  if (nameOf(error) === "ResourceNotFoundException") {
    const message = `the table ${table} holds no ledger; run \`tidegate ledger init\` first`;
    return new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
  return faultOf(error, `the ledger's table ${table}`, "TG_LEDGER_UNAVAILABLE");
}

/** As `ledgerFault`, for an outbox, which makes its own table. */
export function dynamoOutboxFault(error: unknown, table: string): unknown {
  return faultOf(error, `the outbox's table ${table}`, "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const name = nameOf(error);
  if (name === "ValidationException" || name === "TypeError") return error; // Ours to mend.
  const message = `${what} cannot be used: ${reasonOf(error) || name}`;
  return new TidegateError(unavailable, message, { cause: error });
}
