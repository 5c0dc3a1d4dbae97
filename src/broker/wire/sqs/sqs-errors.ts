// SQS errors: the one table that maps a broker fault to the SQS error. sns-errors.ts has the SNS
// errors.
//   F1. The table is total: a new FaultName does not compile until it has an entry here.
//   F2. `x-amzn-query-error` has the legacy code, `__type` the modern shape. SDKs choose their
//       exception class by one and their error code by the other, so both must be exact.
//   F3. The client never learns the cause of an internal failure, only that there was one. A full
//       disk is the exception, because clients can free space.

import { isDiskFull, TidegateError } from "../../../core/errors.ts";
import type { Fault, FaultName } from "../../model/fault.ts";

/** How AWS represents one fault. */
export interface AwsError {
  /** `__type` of a JSON response. */
  readonly type: string;
  /** `<Code>` of a query response, and the code in the header `x-amzn-query-error`. */
  readonly code: string;
  readonly status: number;
  readonly side: "Sender" | "Receiver";
}

const SQS = "com.amazonaws.sqs#";
const CORAL = "com.amazon.coral.service#";
const LEGACY = "AWS.SimpleQueueService.";

/** Same name in both protocols. */
function modern(name: string, status = 400): AwsError {
  return { type: `${SQS}${name}`, code: name, status, side: "Sender" };
}

/** Has a legacy code with a prefix. */
function legacy(name: string, status = 400, code = name): AwsError {
  return { type: `${SQS}${name}`, code: `${LEGACY}${code}`, status, side: "Sender" };
}

/** Returned by the framework of the AWS services, not by SQS itself. */
function generic(
  type: string,
  code: string,
  status = 400,
  side: AwsError["side"] = "Sender",
): AwsError {
  return { type: `${CORAL}${type}`, code, status, side };
}

export const SQS_ERRORS: Readonly<Record<FaultName, AwsError>> = {
  AccessDenied: generic("AccessDeniedException", "AccessDenied", 403),
  AuthorizationError: generic("AuthorizationErrorException", "AuthorizationError", 403),
  BatchEntryIdsNotDistinct: legacy("BatchEntryIdsNotDistinct"),
  BatchRequestTooLong: legacy("BatchRequestTooLong"),
  EmptyBatchRequest: legacy("EmptyBatchRequest"),
  IncompleteSignature: generic("IncompleteSignatureException", "IncompleteSignature"),
  InternalFailure: generic("InternalFailure", "InternalFailure", 500, "Receiver"),
  InvalidAction: generic("UnknownOperationException", "InvalidAction"),
  InvalidAttributeName: modern("InvalidAttributeName"),
  InvalidAttributeValue: modern("InvalidAttributeValue"),
  InvalidBatchEntryId: legacy("InvalidBatchEntryId"),
  InvalidClientTokenId: generic("UnrecognizedClientException", "InvalidClientTokenId", 403),
  InvalidMessageContents: modern("InvalidMessageContents"),
  InvalidParameter: generic("InvalidParameterException", "InvalidParameter"),
  InvalidParameterValue: generic("InvalidParameterValueException", "InvalidParameterValue"),
  InvalidState: generic("InvalidStateException", "InvalidState"),
  MalformedInput: generic("SerializationException", "MalformedInput"),
  MessageNotInflight: legacy("MessageNotInflight"),
  MissingAuthenticationToken: generic(
    "MissingAuthenticationTokenException",
    "MissingAuthenticationToken",
    403,
  ),
  MissingParameter: generic("MissingRequiredParameterException", "MissingParameter"),
  NotFound: generic("NotFoundException", "NotFound", 404),
  OverLimit: modern("OverLimit", 403),
  ParameterValueInvalid: generic("InvalidParameterValueException", "ParameterValueInvalid"),
  PurgeQueueInProgress: legacy("PurgeQueueInProgress", 403),
  QueueDeletedRecently: legacy("QueueDeletedRecently"),
  QueueDoesNotExist: legacy("QueueDoesNotExist", 400, "NonExistentQueue"),
  QueueNameExists: { ...modern("QueueNameExists"), code: "QueueAlreadyExists" },
  ReceiptHandleIsInvalid: modern("ReceiptHandleIsInvalid", 404),
  RequestTooLarge: generic("RequestEntityTooLargeException", "RequestEntityTooLarge", 413),
  ResourceNotFound: modern("ResourceNotFoundException", 404),
  ServiceUnavailable: generic("ServiceUnavailable", "ServiceUnavailable", 503, "Receiver"),
  SignatureDoesNotMatch: generic("InvalidSignatureException", "SignatureDoesNotMatch", 403),
  TagLimitExceeded: generic("TagLimitExceededException", "TagLimitExceeded"),
  Throttled: modern("RequestThrottled", 403),
  TooManyEntriesInBatchRequest: legacy("TooManyEntriesInBatchRequest"),
  UnsupportedOperation: legacy("UnsupportedOperation"),
  ValidationError: generic("ValidationException", "ValidationError"),
};

/** The code of a failed batch entry, where AWS omits the legacy prefix. */
export function shortCode(name: FaultName): string {
  const { code } = SQS_ERRORS[name];
  return code.startsWith(LEGACY) ? code.slice(LEGACY.length) : code;
}

export const NO_SUCH_QUEUE = "The specified queue does not exist.";

/** The message of a fault in the query protocol, which differs for one fault. */
export function queryMessage(fault: Fault): string {
  if (fault.name === "QueueDoesNotExist" && fault.message === NO_SUCH_QUEUE) {
    return "The specified queue does not exist for this wsdl version.";
  }
  return fault.message;
}

/** What a client can do about a full disk; the one cause of a failure that it learns. */
const DISK_FULL = "The disk is full; delete messages or objects, or free disk space.";

/** The fault for the client when the broker throws (F3). */
export function failureFault(error: unknown): Fault {
  if (isDiskFull(error)) return { name: "ServiceUnavailable", message: DISK_FULL };
  if (error instanceof TidegateError && error.code === "TG_STORE_UNAVAILABLE") {
    return { name: "ServiceUnavailable", message: "The service cannot store anything right now." };
  }
  return { name: "InternalFailure", message: "The request failed because of an internal error." };
}
