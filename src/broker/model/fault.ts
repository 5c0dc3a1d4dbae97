// Faults: the expected refusals of the broker. The wire turns each into AWS's own code and status.

/** Every way the broker can refuse; broker/wire/sqs/sqs-errors.ts maps each to what AWS answers. */
export type FaultName =
  | "AccessDenied"
  | "AuthorizationError"
  | "BatchEntryIdsNotDistinct"
  | "BatchRequestTooLong"
  | "EmptyBatchRequest"
  | "InternalFailure"
  | "InvalidAction"
  | "InvalidAttributeName"
  | "InvalidAttributeValue"
  | "InvalidBatchEntryId"
  | "InvalidMessageContents"
  | "InvalidParameter"
  | "InvalidParameterValue"
  | "InvalidState"
  | "MalformedInput"
  | "MessageNotInflight"
  | "MissingParameter"
  | "NotFound"
  | "OverLimit"
  | "ParameterValueInvalid"
  | "PurgeQueueInProgress"
  | "QueueDeletedRecently"
  | "QueueDoesNotExist"
  | "QueueNameExists"
  | "ReceiptHandleIsInvalid"
  | "RequestTooLarge"
  | "ResourceNotFound"
  | "ServiceUnavailable"
  | "TagLimitExceeded"
  | "Throttled"
  | "TooManyEntriesInBatchRequest"
  | "UnsupportedOperation"
  | "ValidationError";

export interface Fault {
  readonly name: FaultName;
  readonly message: string;
}

/** The answer to any operation: what was asked for, or why not. A refusal changes nothing. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: Fault };

export function succeed<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function refuse(name: FaultName, message: string): { ok: false; fault: Fault } {
  return { ok: false, fault: { name, message } };
}
