// Faults: maps DynamoDB errors to failures of a ledger or an outbox. It recognises errors by name,
// as two copies of the SDK in one process have different classes.

import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { InvariantError } from "../../core/assert.ts";
import { type ErrorCode, reasonOf, TidegateError } from "../../core/errors.ts";

export type DynamoItem = Record<string, AttributeValue>;

export function nameOf(error: unknown): string {
  return (error as { name?: string } | null)?.name ?? "";
}

/** The item that made a conditional write fail; undefined if it does not exist. */
export interface Conflict {
  /** False if DynamoDB did not return the item, so that it must be read again. */
  readonly returned: boolean;
  readonly item: DynamoItem | undefined;
}

const UNKNOWN: Conflict = { returned: false, item: undefined };

/** Reasons to start over; on any other, such as throttling, the caller must wait. */
const RACES: ReadonlySet<string> = new Set([
  "None",
  "ConditionalCheckFailed",
  "TransactionConflict",
]);

/** Why a transaction was cancelled, for one of its items. */
interface Reason {
  readonly Code?: string;
  readonly Item?: DynamoItem;
}

/** DynamoDB returns only the items whose conditions failed. */
function conflictOf({ Code, Item: item }: Reason): Conflict {
  return Code === "ConditionalCheckFailed" ? { returned: true, item } : UNKNOWN;
}

/** The conflicts of a failed write, one per item, or null if it failed for another reason. */
export function conflictsIn(error: unknown): Conflict[] | null {
  switch (nameOf(error)) {
    case "ConditionalCheckFailedException":
      return [{ returned: true, item: (error as { Item?: DynamoItem }).Item }];
    case "TransactionCanceledException": {
      const { CancellationReasons: reasons } = error as { CancellationReasons?: Reason[] };
      const conflicts = reasons?.every(({ Code = "None" }) => RACES.has(Code)) ?? false;
      return conflicts && reasons !== undefined ? reasons.map(conflictOf) : null;
    }
    case "TransactionConflictException":
      return [UNKNOWN]; // Another transaction is about to change this item.
    // TransactionInProgress falls to the default: it is our own earlier try, with an unknown
    // outcome. Deciding again could do twice what it is about to do.
    default:
      return null;
  }
}

/** The TidegateError for an error of the SDK, or the error itself if it is a bug. */
export function dynamoLedgerFault(error: unknown, table: string): unknown {
  if (nameOf(error) === "ResourceNotFoundException") {
    const message = `the table ${table} contains no ledger; run \`tidegate ledger init\` first`;
    return new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
  return faultOf(error, `the ledger's table ${table}`, "TG_LEDGER_UNAVAILABLE");
}

/** Like `dynamoLedgerFault`, for an outbox, which creates its own table. */
export function dynamoOutboxFault(error: unknown, table: string): unknown {
  return faultOf(error, `the outbox's table ${table}`, "TG_OUTBOX_UNAVAILABLE");
}

function faultOf(error: unknown, what: string, unavailable: ErrorCode): unknown {
  if (error instanceof TidegateError || error instanceof InvariantError) return error;
  const name = nameOf(error);
  if (name === "ValidationException" || name === "TypeError") return error; // A bug in this store.
  const message = `${what} cannot be used: ${reasonOf(error) || name}`;
  return new TidegateError(unavailable, message, { cause: error });
}
