// Limits: bounds that AWS or this project sets, by name, in one place. Limits that a pattern
// expresses (labels, ids of batch entries) are in the pattern; limits of a single file are in that
// file.
//   L1. The unit is in the name; times are DurationMs even where AWS uses seconds.
//   L2. SQS_, SNS_, S3_ and DYNAMODB_ limits are Amazon's; the others are Tidegate's and say what
//       they protect.
// Grouped by service, in the order in which a message meets them.

import { type Bytes, bytes, type DurationMs, days, hours, minutes, seconds } from "./units.ts";

// SQS: messages
export const SQS_MESSAGE_BYTES_MAX: Bytes = bytes(1_048_576);
/** The range of the queue attribute MaximumMessageSize; the highest is its default. */
export const SQS_MESSAGE_BYTES_SETTING_MIN: Bytes = bytes(1_024);
export const SQS_MESSAGE_BYTES_SETTING_MAX: Bytes = bytes(1_048_576);
/** All entries of one batch together, whatever the queue's MaximumMessageSize. */
export const SQS_BATCH_BYTES_MAX: Bytes = bytes(1_048_576);
export const SQS_BATCH_ENTRIES_MAX = 10;
export const SQS_MESSAGE_ATTRIBUTES_MAX = 10;
export const SQS_ATTRIBUTE_NAME_CHARACTERS_MAX = 256;
export const SQS_ATTRIBUTE_TYPE_CHARACTERS_MAX = 256;
export const SQS_GROUP_ID_CHARACTERS_MAX = 128;
export const SQS_DEDUP_ID_CHARACTERS_MAX = 128;

// SQS: queues
export const SQS_QUEUE_NAME_CHARACTERS_MAX = 80;
export const SQS_QUEUE_TAGS_MAX = 50;
export const SQS_TAG_KEY_CHARACTERS_MAX = 128;
export const SQS_TAG_VALUE_CHARACTERS_MAX = 256;
export const SQS_LIST_PAGE_MAX = 1_000;
export const SQS_PERMISSION_ACTIONS_MAX = 7;
export const SQS_POLICY_BYTES_MAX: Bytes = bytes(8_192);
export const SQS_KMS_REUSE_MS_MIN: DurationMs = seconds(60);
export const SQS_KMS_REUSE_MS_MAX: DurationMs = seconds(86_400);
export const SQS_KMS_REUSE_MS_DEFAULT: DurationMs = seconds(300);
/** How long a name cannot be reused after DeleteQueue. */
export const SQS_DELETED_NAME_WAIT_MS: DurationMs = seconds(60);
export const SQS_PURGE_INTERVAL_MS: DurationMs = seconds(60);

// SQS: times of a message
export const SQS_DELAY_MS_MAX: DurationMs = seconds(900);
export const SQS_RETENTION_MS_MIN: DurationMs = seconds(60);
export const SQS_RETENTION_MS_MAX: DurationMs = days(14);
export const SQS_RETENTION_MS_DEFAULT: DurationMs = days(4);
/** Also the longest total time a message may stay hidden, counted from its receive. */
export const SQS_VISIBILITY_MS_MAX: DurationMs = hours(12);
export const SQS_VISIBILITY_MS_DEFAULT: DurationMs = seconds(30);
export const SQS_DEDUP_WINDOW_MS: DurationMs = minutes(5);
export const SQS_RECEIVE_ATTEMPT_MS: DurationMs = minutes(5);

// SQS: receiving
export const SQS_RECEIVE_WAIT_MS_MAX: DurationMs = seconds(20);
export const SQS_RECEIVE_MESSAGES_MAX = 10;
/** Beyond it a standard queue answers OverLimit, and a FIFO queue returns no messages. */
export const SQS_IN_FLIGHT_MAX = 120_000;

// SQS: dead letters and redrive
export const SQS_RECEIVE_COUNT_SETTING_MIN = 1;
export const SQS_RECEIVE_COUNT_SETTING_MAX = 1_000;
export const SQS_REDRIVE_ALLOW_SOURCES_MAX = 10;
export const SQS_MOVE_MESSAGES_PER_SECOND_MAX = 500;
export const SQS_MOVE_TASKS_LISTED_MAX = 10;

// SQS: fair queues. A tenant is noisy if it has more than this share of the messages in flight, and
// at least this many; it is quiet again after sending nothing for the quiet time.
export const SQS_NOISY_SHARE_PERCENT = 10;
export const SQS_NOISY_IN_FLIGHT_MIN = 30;
export const SQS_NOISY_QUIET_MS: DurationMs = minutes(5);

// SNS
export const SNS_MESSAGE_BYTES_DEFAULT: Bytes = bytes(262_144);
/** The highest value of the topic attribute MaximumMessageSize. */
export const SNS_MESSAGE_BYTES_MAX: Bytes = bytes(1_048_576);
export const SNS_BATCH_ENTRIES_MAX = 10;
export const SNS_TOPIC_NAME_CHARACTERS_MAX = 256;
export const SNS_SUBJECT_CHARACTERS_MAX = 100;
/** Raw delivery to SQS discards a message with more attributes. */
export const SNS_RAW_ATTRIBUTES_MAX = 10;
export const SNS_DEDUP_WINDOW_MS: DurationMs = minutes(5);
export const SNS_FILTER_KEYS_MAX = 5;
export const SNS_FILTER_COMBINATIONS_MAX = 150;
/** For a topic whose messages may be larger than the default. */
export const SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX = 100;
export const SNS_LIST_PAGE = 100;
export const SNS_TOPIC_TAGS_MAX = 50;
export const SNS_POLICY_BYTES_MAX: Bytes = bytes(30 * 1_024);
export const SNS_POLICY_STATEMENTS_MAX = 100;
/** Lifetime of a confirmation token and of the subscription that waits for it. */
export const SNS_CONFIRMATION_MS: DurationMs = days(2);
export const SNS_ARCHIVE_DAYS_MAX = 365;
/** Delivery policies of HTTP endpoints: one delay, the number of retries, all delays together. */
export const SNS_RETRY_DELAY_MS_MAX: DurationMs = seconds(3_600);
export const SNS_RETRIES_MAX = 100;
export const SNS_RETRY_TOTAL_MS_MAX: DurationMs = seconds(3_600);
/** How long an HTTP endpoint may take to answer. */
export const SNS_HTTP_TIMEOUT_MS: DurationMs = seconds(15);
/** Tidegate's: concurrent requests to HTTP endpoints, so that slow ones do not pile up. */
export const SNS_HTTP_REQUESTS_MAX = 16;
/** Tidegate's: how much of an endpoint's response is read; its content is ignored. */
export const SNS_HTTP_REPLY_BYTES_MAX: Bytes = bytes(65_536);

// S3
export const S3_KEY_BYTES_MAX: Bytes = bytes(1_024);
export const S3_BUCKET_NAME_CHARACTERS_MIN = 3;
export const S3_BUCKET_NAME_CHARACTERS_MAX = 63;
/** Buckets created before the naming rules of 2018 may be longer; they still send events. */
export const S3_LEGACY_BUCKET_NAME_CHARACTERS_MAX = 255;
export const S3_OBJECT_TAGS_MAX = 10;
export const S3_LIST_KEYS_MAX = 1_000;
export const S3_DELETE_KEYS_MAX = 1_000;
export const S3_UPLOAD_PARTS_MAX = 10_000;
export const S3_PART_BYTES_MIN: Bytes = bytes(5 * 1_048_576);

// DynamoDB
export const DYNAMODB_ITEM_BYTES_MAX: Bytes = bytes(400 * 1_024);

// The contract
/** Short enough to be readable in a log and indexed by any store. */
export const DEDUPE_KEY_BYTES_MAX: Bytes = bytes(1_024);
export const EVENT_SOURCE_CHARACTERS_MAX = 128;
/** Real sequencers have 16 to 18 digits; a longer text is something else. */
export const SEQUENCER_CHARACTERS_MAX = 128;
/** Opaque texts of S3 that are passed on: ETags, version ids, request ids. */
export const S3_OPAQUE_CHARACTERS_MAX = 1_024;
/** Nested SNS envelopes; each one means another parse of its content. */
export const SNS_LAYERS_MAX = 4;
/** Records of one S3 notification; Amazon sends one, and about two thousand fit into 1 MiB. */
export const NOTIFICATION_RECORDS_MAX = 4_096;

export const FAILURE_MESSAGE_CHARS_MAX = 2_048;

/** Maximum retention of ledger and outbox: ten years. */
export const RETENTION_DAYS_MAX = 3_650;
