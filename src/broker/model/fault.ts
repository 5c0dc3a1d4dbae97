// Faults: the expected refusals of the broker. The wire maps each to AWS's code and status.

import { type Refusal, refuseWith } from "../../core/result.ts";

/** Every refusal of the broker; broker/wire/sqs/sqs-errors.ts maps each to AWS's answer. */
export type FaultName =
  | "AccessDenied"
  | "AuthorizationError"
  | "BatchEntryIdsNotDistinct"
  | "BatchRequestTooLong"
  | "EmptyBatchRequest"
  | "IncompleteSignature"
  | "InternalFailure"
  | "InvalidAction"
  | "InvalidAttributeName"
  | "InvalidAttributeValue"
  | "InvalidBatchEntryId"
  | "InvalidClientTokenId"
  | "InvalidMessageContents"
  | "InvalidParameter"
  | "InvalidParameterValue"
  | "InvalidState"
  | "MalformedInput"
  | "MessageNotInflight"
  | "MissingAuthenticationToken"
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
  | "SignatureDoesNotMatch"
  | "TagLimitExceeded"
  | "Throttled"
  | "TooManyEntriesInBatchRequest"
  | "UnsupportedOperation"
  | "ValidationError";

export interface Fault {
  readonly name: FaultName;
  readonly message: string;
}

/** Refuses an operation. A refused operation changes nothing. */
export function refuse(name: FaultName, message: string): Refusal<Fault> {
  return refuseWith({ name, message });
}
