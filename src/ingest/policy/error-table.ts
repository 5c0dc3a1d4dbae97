// Error table: classifies errors by their names, codes and messages. Data only: error-class.ts
// reads it, and a test compares docs/reference/error-classes.md with it.
//   X1. The first matching row wins, so specific rows come first.
//   X2. "never" is for errors that would recur in the same way. In doubt a row says "backoff": seven
//       attempts cost minutes, a good record in the dead-letter queue costs an operator hours.
//   X3. `blames` names the dependency that has to recover if a commit or a ledger call failed. Such
//       failures in a row that blame the sink or the ledger open the circuit breaker. An error of a
//       handler always blames its record. Another process that holds the record's locks opens it
//       never.

export type Blame = "record" | "holder" | "sink" | "ledger" | "queue" | "objects";

export interface ErrorRow {
  readonly errorClass: string;
  readonly retry: "backoff" | "never";
  readonly blames: Blame;
  /** Names and codes; one match is enough. */
  readonly words?: readonly string[];
  /** SQLSTATEs or prefixes of them. */
  readonly sqlStates?: readonly string[];
  /** Ranges of the HTTP status, both ends included. */
  readonly statuses?: readonly (readonly [number, number])[];
  /** Reasons of a cancelled DynamoDB transaction. */
  readonly reasons?: readonly string[];
  /** Prefixes of the message, for drivers that set no code. */
  readonly messages?: readonly string[];
  /** Completes "This is ...". */
  readonly about: string;
}

const row = <const R extends ErrorRow>(errorRow: R): R => errorRow;

/** The verdict if no row matches. */
export const UNKNOWN_ROW = row({
  errorClass: "unknown",
  retry: "backoff",
  blames: "record",
  about: "any error that no row matches, for example a thrown string",
});

export const ERROR_TABLE = [
  row({
    errorClass: "unavailable",
    retry: "backoff",
    blames: "holder",
    words: ["TG_LEDGER_BUSY"],
    about: "records that another process has locked; the ledger works, and other records continue",
  }),
  row({
    errorClass: "unavailable",
    retry: "backoff",
    blames: "ledger",
    words: [
      "TG_LEDGER_UNAVAILABLE",
      "TG_OUTBOX_UNAVAILABLE",
      "TG_STORE_LOCKED",
      "TG_STORE_UNAVAILABLE",
      "TG_STORE_FULL",
      "TG_STORE_CORRUPT",
      "TG_STORE_NEWER",
      "TG_STORE_OLDER",
    ],
    about: "a ledger store that fails; no record is dead-lettered for it",
  }),
  row({
    errorClass: "unavailable",
    retry: "backoff",
    blames: "queue",
    words: ["TG_QUEUE_UNAVAILABLE"],
    about: "a queue or topic that does not answer",
  }),
  row({
    errorClass: "unavailable",
    retry: "backoff",
    blames: "objects",
    words: ["TG_OBJECTS_UNAVAILABLE"],
    about: "a bucket that does not answer",
  }),
  row({
    errorClass: "refused",
    retry: "never",
    blames: "queue",
    words: ["TG_QUEUE_REFUSED"],
    about: "a queue or topic that does not exist or may not be sent to",
  }),
  row({
    errorClass: "refused",
    retry: "never",
    blames: "record",
    words: [
      "TG_CONFIG_INVALID",
      "TG_DEDUPE_KEY_REUSED",
      "TG_MESSAGE_REFUSED",
      "TG_SINK_REFUSED",
      "TG_VALUE_INVALID",
    ],
    about: "a row, an event or a value that is rejected as invalid",
  }),
  row({
    errorClass: "sink-full",
    retry: "backoff",
    blames: "sink",
    words: ["TG_SINK_UNAVAILABLE", "ENOSPC", "EDQUOT", "SQLITE_FULL"],
    sqlStates: ["53100"],
    messages: ["database or disk is full"],
    about: "a sink that is full or accepts no writes at present",
  }),
  row({
    errorClass: "governance",
    retry: "never",
    blames: "record",
    words: ["GovernanceError"],
    about: 'data that may not be processed; also any error with `errorClass: "governance"`',
  }),
  row({
    errorClass: "unreadable",
    retry: "never",
    blames: "record",
    words: ["TG_OBJECT_UNREADABLE"],
    about: "an object whose bytes are not in the expected format",
  }),
  row({
    errorClass: "undecodable",
    retry: "never",
    blames: "record",
    about:
      "a message that is not JSON, has an unknown shape, or has no dedupe key; raised by the consumer",
  }),
  row({
    errorClass: "missing-object",
    retry: "backoff",
    blames: "objects",
    words: ["ObjectGone"],
    about: 'an object that cannot be read as its event describes it, with `onMissing: "retry"`',
  }),
  row({
    errorClass: "missing-object",
    retry: "never",
    blames: "objects",
    words: ["NoSuchKey", "NoSuchVersion", "NotFound", "NoSuchBucket"],
    about:
      "an object that does not exist; `onMissing` decides for objects of the pipeline's source",
  }),
  row({
    errorClass: "schema",
    retry: "never",
    blames: "record",
    words: [
      "SchemaError",
      "ValidationError",
      "ZodError",
      "$ZodError",
      "ValiError",
      "TraversalError",
      "StructError",
    ],
    about: "data that its schema rejects",
  }),
  row({
    errorClass: "lease-lost",
    retry: "backoff",
    blames: "queue",
    about: "a delivery that another worker may have by now; raised by the consumer",
  }),
  row({
    errorClass: "timeout",
    retry: "backoff",
    blames: "record",
    words: ["AbortError", "ABORT_ERR"],
    about: "an attempt that exceeded `timeoutMs`; raised by the consumer or by the aborted call",
  }),
  row({
    errorClass: "throttling",
    retry: "backoff",
    blames: "sink",
    words: [
      "BandwidthLimitExceeded",
      "EC2ThrottledException",
      "KmsThrottled",
      "LimitExceededException",
      "OverLimit",
      "PriorRequestNotComplete",
      "ProvisionedThroughputExceeded",
      "ProvisionedThroughputExceededException",
      "RequestLimitExceeded",
      "RequestThrottled",
      "RequestThrottledException",
      "SlowDown",
      "ThrottledException",
      "Throttling",
      "ThrottlingError",
      "ThrottlingException",
      "TooManyRequestsException",
    ],
    statuses: [[429, 429]],
    about: "a service that asks for fewer requests",
  }),
  row({
    errorClass: "dynamodb",
    retry: "never",
    blames: "record",
    words: [
      "ConditionalCheckFailedException",
      "DuplicateItemException",
      "IdempotentParameterMismatchException",
      "ItemCollectionSizeLimitExceededException",
      "ResourceNotFoundException",
      "ValidationException",
    ],
    reasons: ["ConditionalCheckFailed", "ItemCollectionSizeLimitExceeded", "ValidationError"],
    about: "a DynamoDB request that is invalid, or whose condition failed",
  }),
  row({
    errorClass: "throttling",
    retry: "backoff",
    blames: "sink",
    reasons: [
      "ProvisionedThroughputExceeded",
      "ThrottlingError",
      "AccountProvisionedThroughputExceeded",
    ],
    about: "a DynamoDB transaction that was partly throttled",
  }),
  row({
    errorClass: "dynamodb",
    retry: "backoff",
    blames: "record",
    words: [
      "ReplicatedWriteConflictException",
      "TransactionCanceledException",
      "TransactionConflictException",
      "TransactionInProgressException",
    ],
    about: "a DynamoDB transaction that conflicts with another",
  }),
  row({
    errorClass: "permission",
    retry: "backoff",
    blames: "sink",
    words: [
      "CredentialsProviderError",
      "ExpiredToken",
      "ExpiredTokenException",
      "RequestExpired",
      "RequestTimeTooSkewed",
      "TokenRefreshRequired",
    ],
    about: "credentials that expired and that their provider renews",
  }),
  row({
    errorClass: "permission",
    retry: "never",
    blames: "sink",
    words: [
      "AccessDenied",
      "AccessDeniedException",
      "EACCES",
      "EPERM",
      "Forbidden",
      "InvalidAccessKeyId",
      "InvalidClientTokenId",
      "SignatureDoesNotMatch",
      "SQLITE_PERM",
      "SQLITE_READONLY",
      "UnauthorizedException",
      "UnrecognizedClientException",
    ],
    sqlStates: ["28", "42501"],
    about: "an operation that is not permitted",
  }),
  row({
    errorClass: "postgres",
    retry: "backoff",
    blames: "record",
    sqlStates: ["40001", "40003", "40P01", "55006", "55P03", "57014"],
    about: "a transaction that conflicts with another, or was cancelled",
  }),
  row({
    errorClass: "postgres",
    retry: "backoff",
    blames: "sink",
    sqlStates: ["08", "25006", "53", "57P", "58"],
    messages: [
      "Connection terminated",
      "timeout exceeded when trying to connect",
      "Client has encountered a connection error",
    ],
    about:
      "a PostgreSQL server that is unreachable, out of resources, starting, stopping or failing over",
  }),
  row({
    errorClass: "postgres",
    retry: "never",
    blames: "record",
    sqlStates: ["0A", "21", "22", "23", "42", "44", "54"],
    about: "a statement or a row that PostgreSQL rejects",
  }),
  row({
    errorClass: "sqlite",
    retry: "backoff",
    blames: "sink",
    words: ["SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_LOCKED"],
    messages: ["database is locked"],
    about: "a database file that another process has locked or the disk cannot read or write",
  }),
  row({
    errorClass: "sqlite",
    retry: "never",
    blames: "record",
    words: ["SQLITE_CONSTRAINT", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_TOOBIG"],
    about: "a statement or a row that SQLite rejects",
  }),
  row({
    errorClass: "network",
    retry: "backoff",
    blames: "sink",
    words: [
      "EAI_AGAIN",
      "ECONNABORTED",
      "ECONNREFUSED",
      "ECONNRESET",
      "EHOSTDOWN",
      "EHOSTUNREACH",
      "ENETDOWN",
      "ENETUNREACH",
      "ENOTFOUND",
      "EPIPE",
      "ERR_STREAM_PREMATURE_CLOSE",
      "ETIMEDOUT",
      "NetworkingError",
      "RequestTimeout",
      "RequestTimeoutException",
      "TG_RESPONSE_DROPPED",
      "TimeoutError",
      "UND_ERR_BODY_TIMEOUT",
      "UND_ERR_CONNECT_TIMEOUT",
      "UND_ERR_HEADERS_TIMEOUT",
      "UND_ERR_SOCKET",
    ],
    statuses: [[408, 408]],
    messages: ["fetch failed", "socket hang up", "terminated"],
    about: "a connection that failed, broke, or timed out",
  }),
  row({
    errorClass: "server",
    retry: "backoff",
    blames: "sink",
    words: ["InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable"],
    statuses: [[500, 599]],
    about: "a service with an internal error",
  }),
  row({
    errorClass: "permission",
    retry: "never",
    blames: "sink",
    statuses: [
      [401, 401],
      [403, 403],
    ],
    about: "a response that denies permission",
  }),
] as const satisfies readonly ErrorRow[];

/** The classes of the table; `retry.classify` and PermanentError may name others. */
export type BuiltInClass = (typeof ERROR_TABLE)[number]["errorClass"] | "unknown";
