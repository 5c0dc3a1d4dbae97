// SNS errors: the one table that maps a broker fault to the SNS error. It is total, like the SQS
// table in sqs-errors.ts: a new FaultName does not compile until it has an entry here.

import type { FaultName } from "../../model/fault.ts";
import type { AwsError } from "../sqs/sqs-errors.ts";

function sender(code: string, status = 400): AwsError {
  return { type: code, code, status, side: "Sender" };
}

function receiver(code: string, status: number): AwsError {
  return { type: code, code, status, side: "Receiver" };
}

/** Faults of queues only; a topic that reports one has a bug. */
const OF_QUEUES = receiver("InternalError", 500);

export const SNS_ERRORS: Readonly<Record<FaultName, AwsError>> = {
  AccessDenied: sender("AccessDenied", 403),
  AuthorizationError: sender("AuthorizationError", 403),
  BatchEntryIdsNotDistinct: sender("BatchEntryIdsNotDistinct"),
  BatchRequestTooLong: sender("BatchRequestTooLong"),
  EmptyBatchRequest: sender("EmptyBatchRequest"),
  IncompleteSignature: sender("IncompleteSignature"),
  InternalFailure: receiver("InternalError", 500),
  InvalidAction: sender("InvalidAction"),
  InvalidAttributeName: sender("InvalidParameter"),
  InvalidAttributeValue: sender("InvalidParameter"),
  InvalidBatchEntryId: sender("InvalidBatchEntryId"),
  InvalidClientTokenId: sender("InvalidClientTokenId", 403),
  InvalidMessageContents: sender("InvalidParameter"),
  InvalidParameter: sender("InvalidParameter"),
  InvalidParameterValue: sender("InvalidParameter"),
  InvalidState: sender("InvalidState"),
  MalformedInput: sender("MalformedQueryString"),
  MessageNotInflight: OF_QUEUES,
  MissingAuthenticationToken: sender("MissingAuthenticationToken", 403),
  MissingParameter: sender("MissingParameter"),
  NotFound: sender("NotFound", 404),
  OverLimit: OF_QUEUES,
  ParameterValueInvalid: sender("ParameterValueInvalid"),
  PurgeQueueInProgress: OF_QUEUES,
  QueueDeletedRecently: OF_QUEUES,
  QueueDoesNotExist: OF_QUEUES,
  QueueNameExists: OF_QUEUES,
  ReceiptHandleIsInvalid: OF_QUEUES,
  RequestTooLarge: sender("RequestEntityTooLarge", 413),
  ResourceNotFound: sender("ResourceNotFound", 404),
  ServiceUnavailable: receiver("ServiceUnavailable", 503),
  SignatureDoesNotMatch: sender("SignatureDoesNotMatch", 403),
  TagLimitExceeded: sender("TagLimitExceeded"),
  Throttled: { ...sender("Throttled", 429), type: "ThrottledException" },
  TooManyEntriesInBatchRequest: sender("TooManyEntriesInBatchRequest"),
  UnsupportedOperation: sender("UnsupportedOperation"),
  ValidationError: sender("ValidationError"),
};
