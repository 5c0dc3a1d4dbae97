// Error table: what failures mean for the record that met them. Data only; error-class.ts reads it
// and docs/reference/error-classes.md is checked against it.
//   X1. The first row that fits an error is heard, so the telling come before the general.
//   X2. "never" is for what would fail again in the same way. In doubt a row says "backoff": seven
//       attempts cost minutes, a good record among the dead letters costs somebody's morning.
//   X3. `blames` says what would have to recover. Failures in a row that blame sink or ledger open
//       the circuit breaker, those that blame the record never do.

export type Blame = "record" | "sink" | "ledger" | "queue" | "objects";

export interface ErrorRow {
  readonly errorClass: string;
  readonly retry: "backoff" | "never";
  readonly blames: Blame;
  /** Names and codes, any of which is enough. */
  readonly words?: readonly string[];
  /** SQLSTATEs, or how they begin. */
  readonly sqlStates?: readonly string[];
  /** HTTP status, lowest and highest. */
  readonly statuses?: readonly (readonly [number, number])[];
  /** Reasons of a cancelled DynamoDB transaction. */
  readonly reasons?: readonly string[];
  /** What the message begins with, for drivers that give no code. */
  readonly messages?: readonly string[];
  /** Finishes "This is ...". */
  readonly about: string;
}

const row = <const R extends ErrorRow>(errorRow: R): R => errorRow;

/** The verdict on what no row fits. */
export const UNKNOWN_ROW = row({
  errorClass: "unknown",
  retry: "backoff",
  blames: "record",
  about: "anything that no row fits, a thrown string included",
});

export const ERROR_TABLE = [
  row({
    errorClass: "unavailable",
    retry: "backoff",
    blames: "ledger",
    words: [
      "TG_LEDGER_UNAVAILABLE",
      "TG_OUTBOX_UNAVAILABLE",
      "TG_STORE_LOCKED",
      "TG_STORE_UNAVAILABLE",
      "TG_STORE_CORRUPT",
      "TG_STORE_NEWER",
    ],
    about: "the ledger's store; no record is given up on for its sake",
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
    about: "a row, an event or a value that is not taken as it is",
  }),
  row({
    errorClass: "sink-full",
    retry: "backoff",
    blames: "sink",
    words: ["TG_SINK_UNAVAILABLE", "ENOSPC", "EDQUOT", "SQLITE_FULL"],
    sqlStates: ["53100"],
    messages: ["database or disk is full"],
    about: "a sink that has no room or takes nothing at present",
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
    about: "an object whose bytes are not of the format they should be of",
  }),
  row({
    errorClass: "undecodable",
    retry: "never",
    blames: "record",
    about:
      "a message that is no JSON, of no known shape, or without a dedupe key; told by the runtime",
  }),
  row({
    errorClass: "missing-object",
    retry: "backoff",
    blames: "objects",
    words: ["ObjectGone"],
    about: 'an object that cannot be read as its event tells, where `onMissing` is "retry"',
  }),
  row({
    errorClass: "missing-object",
    retry: "never",
    blames: "objects",
    words: ["NoSuchKey", "NoSuchVersion", "NotFound", "NoSuchBucket"],
    about: "an object that is not there; `onMissing` says what becomes of the pipeline's own",
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
    about: "a delivery that another worker may have by now; told by the runtime",
  }),
  row({
    errorClass: "timeout",
    retry: "backoff",
    blames: "record",
    words: ["AbortError", "ABORT_ERR"],
    about: "an attempt that ran into `timeoutMs`; told by the runtime, or by what was aborted",
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
    about: "a request of DynamoDB's that is wrong, or whose condition does not hold",
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
    about: "a DynamoDB transaction of which a part was throttled",
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
    about: "a DynamoDB transaction that met another",
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
    about: "credentials that ran out and are renewed by whoever hands them out",
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
    about: "something that we may not do",
  }),
  row({
    errorClass: "postgres",
    retry: "backoff",
    blames: "record",
    sqlStates: ["40001", "40003", "40P01", "55006", "55P03", "57014"],
    about: "a transaction that met another, or was cancelled",
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
      "a PostgreSQL that is out of reach, out of resources, starting, stopping or failing over",
  }),
  row({
    errorClass: "postgres",
    retry: "never",
    blames: "record",
    sqlStates: ["0A", "21", "22", "23", "42", "44", "54"],
    about: "a statement or a row that PostgreSQL does not take",
  }),
  row({
    errorClass: "sqlite",
    retry: "backoff",
    blames: "sink",
    words: ["SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_LOCKED"],
    messages: ["database is locked"],
    about: "a database file that another process holds or the disk fails to serve",
  }),
  row({
    errorClass: "sqlite",
    retry: "never",
    blames: "record",
    words: ["SQLITE_CONSTRAINT", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_TOOBIG"],
    about: "a statement or a row that SQLite does not take",
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
    about: "a connection that was not made, broke, or fell silent",
  }),
  row({
    errorClass: "server",
    retry: "backoff",
    blames: "sink",
    words: ["InternalError", "InternalFailure", "InternalServerError", "ServiceUnavailable"],
    statuses: [[500, 599]],
    about: "a service that failed on its side",
  }),
  row({
    errorClass: "permission",
    retry: "never",
    blames: "sink",
    statuses: [
      [401, 401],
      [403, 403],
    ],
    about: "an answer that says that we may not",
  }),
] as const satisfies readonly ErrorRow[];

/** The classes that the table knows; rules and PermanentError may speak of others. */
export type BuiltInClass = (typeof ERROR_TABLE)[number]["errorClass"] | "unknown";
