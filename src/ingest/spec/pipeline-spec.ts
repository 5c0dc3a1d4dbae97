// Pipeline spec: the types of a pipeline file. define-pipeline.ts validates a spec and fills in its
// defaults; the runtime uses only the result.

import type { CsvOptions } from "../../core/csv-format.ts";
import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { ObjectEventKind } from "../../core/events/object-identity.ts";
import type { Lane } from "../../core/lane.ts";
import type { SqlParam } from "../../core/sql-statement.ts";
import type {
  ColumnType,
  CreatedTableSpec,
  ScalarType,
  TableSinkSpec,
  TableSpec,
  TablesSpec,
} from "../../core/table-spec.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { LogLevel } from "../../ports/telemetry.ts";
import type { ErrorClassifier, ErrorVerdict } from "../policy/error-class.ts";
import type { ArchiveSpec } from "./archive-fields.ts";
import type { EventTimeSpec, FactsOf } from "./event-facts.ts";
import type { FrozenField, FrozenSpec } from "./frozen-values.ts";
import type { GovernAnswer, GovernedRow } from "./govern.ts";
import type { AnyOwnSource, OwnMessageInput, OwnSource, TextForm } from "./own-source.ts";
import type { StandardSchema } from "./standard-schema.ts";

export type {
  ColumnType,
  CreatedTableSpec,
  ExistingTableSpec,
  TableSinkSpec,
  TableSpec,
  TablesSpec,
} from "../../core/table-spec.ts";
export type { ErrorClassifier, ErrorVerdict };

/** Objects of a bucket, announced through a queue. */
export interface BucketSource {
  readonly bucket: string;
  readonly prefix?: string;
  /** The queue with the bucket's events. `tidegate dev` creates one named after the pipeline. */
  readonly queue?: string;
}

/** Messages of a queue: envelopes of Tidegate producers, or S3 events. */
export interface QueueSource {
  /** A name, or a URL. */
  readonly queue: string;
  /** What the messages contain. Default: "messages". */
  readonly contents?: "messages" | "objects";
}

export type SourceSpec = BucketSource | QueueSource | AnyOwnSource;

export type ReadFormat = "auto" | "csv" | "jsonl" | "json" | "parquet";

/** A row, or a payload, without a schema: cells of CSV are strings, all else is JSON. */
export type RowWithoutSchema<S extends SourceSpec, F extends ReadFormat> = S extends
  | { readonly bucket: string }
  | { readonly contents: "objects" }
  ? F extends "csv"
    ? Readonly<Record<string, string>>
    : JsonObject
  : JsonObject;

export interface RetrySpec {
  /** Attempts before a record is dead-lettered. Default: 7. */
  readonly attempts?: number;
  /** The first backoff; it doubles with every attempt, with jitter. Default: 1 second. */
  readonly baseMs?: number;
  /** The longest backoff. Default: 15 minutes. */
  readonly capMs?: number;
  /**
   * Decides whether an error is retried, before PermanentError, RetryLater and the built-in table
   * of error classes. Return undefined to leave an error to them.
   */
  readonly classify?: ErrorClassifier;
}

/** How long a pipeline's stores keep things, in days. */
export interface RetentionSpec {
  /** Days for which the ledger keeps a record; a later duplicate is processed. Default: 45. */
  readonly ledgerDays?: number;
  /**
   * Days for which sent rows of an outbox in the ledger's store are kept. Default: the retention
   * that the producer set.
   */
  readonly outboxDays?: number;
}

export interface ConcurrencySpec<Event> {
  /** Records that this process handles at the same time. Default: 10. */
  readonly total?: number;
  /** Records with the same key that run at the same time. Default with a key: 1. */
  readonly perKey?: number;
  /** Groups records that must not run concurrently, for example by bucket and prefix. */
  readonly key?: (event: Event) => string;
}

interface ScalarValues {
  readonly text: string;
  readonly integer: number;
  readonly bigint: bigint | number | string;
  readonly decimal: string | number | bigint;
  readonly real: number;
  readonly boolean: boolean;
  readonly date: string;
  readonly timestamp: string | Date;
  readonly json: unknown;
  readonly bytes: Uint8Array;
  readonly uuid: string;
}

type ValueOf<C extends ColumnType> = C extends keyof ScalarValues
  ? ScalarValues[C]
  : C extends `${infer E extends ScalarType}[]`
    ? readonly (ScalarValues[E] | null)[]
    : ScalarValues["decimal"];

/**
 * A row that a handler writes: key columns are required, others may be null or absent. The database
 * checks the columns of an existing table.
 */
export type RowOf<T extends TableSpec> = T extends CreatedTableSpec
  ? {
      readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]>;
    } & {
      readonly [C in Exclude<keyof T["columns"], T["key"][number]>]?: ValueOf<
        T["columns"][C]
      > | null;
    }
  : Readonly<Record<string, unknown>>;

export type KeyOf<T extends TableSpec> = T extends CreatedTableSpec
  ? { readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]> }
  : Readonly<Record<string, unknown>>;

/** An object that was created or changed. */
export interface ObjectInput<Row> {
  readonly kind: Exclude<ObjectEventKind, "removed">;
  /** The event, with bucket, key, version and time of the object. */
  readonly object: ObjectEvent;
  /** Streams the rows, each validated against the schema. Iterate once. */
  rows(): AsyncIterable<Row>;
  /** Streams the bytes, pinned to the version of the event. */
  bytes(): AsyncIterable<Uint8Array>;
  /** Reads the whole object as text, up to TEXT_BYTES_MAX. */
  text(): Promise<string>;
}

/** An object that was deleted or has expired; only with `onRemoved: "handle"`. */
export interface RemovedInput {
  readonly kind: "removed";
  /** The event of the removal, with bucket and key of the object. */
  readonly object: ObjectEvent;
}

/** What a pipeline does with the event of a removed object. */
export type OnRemoved = "ignore" | "delete-rows" | "handle";

type ObjectInputOf<Out, R extends OnRemoved> = R extends "handle"
  ? ObjectInput<Out> | RemovedInput
  : ObjectInput<Out>;

/** A producer's message. */
export interface MessageInput<Payload> {
  readonly envelope: MessageEnvelope;
  /** Validated against the schema. */
  readonly payload: Payload;
}

export type EventOf<S extends SourceSpec, Out, R extends OnRemoved = "ignore"> = S extends {
  readonly bucket: string;
}
  ? ObjectInputOf<Out, R>
  : S extends { readonly contents: "objects" }
    ? ObjectInputOf<Out, R>
    : S extends { readonly key: unknown }
      ? OwnMessageInput<Out>
      : MessageInput<Out>;

/** What a handler gets with each event: its identity, and the only way to write effects. */
export interface HandlerContext<
  T extends TablesSpec = TablesSpec,
  Z extends FrozenSpec = FrozenSpec,
> {
  /** The idempotency key of the record: the same for every delivery. */
  readonly key: string;
  /** The fencing token of the claim; null if the queue's receipt serves as the lease. */
  readonly fence: number | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * "late" if the record's event time is before the watermark, "too-late" if by more than
   * `eventTime.allowedLatenessMs`. Decided once: retries, redrives and replays get the same lane.
   */
  readonly lane: Lane;
  /** The watermark that decided the lane, in milliseconds since 1970; null if there was none. */
  readonly watermark: number | null;
  /**
   * Aborts when the lease is lost, the timeout passes or the process stops. It also aborts when the
   * handler ends, so that work it left behind stops.
   */
  readonly signal: AbortSignal;
  /**
   * The record's event time, in milliseconds since 1970. Every attempt, redrive and replay of the
   * record gets the same time; use it instead of `Date.now()`.
   */
  now(): number;
  /**
   * A fraction in [0, 1), derived from the pipeline's seed and the record's key. Every attempt gets
   * the same values in the same order. Not for secrets: anyone with the seed can compute it.
   */
  random(): number;
  /** A UUID, under the same rule. It starts with the event time, so UUIDs sort by it. */
  uuid(): string;
  /** The pipeline's `frozen.parameters`, as the run recorded them. */
  readonly parameters: FrozenField<Z, "parameters">;
  /** The pipeline's `frozen.models`: names and versions. */
  readonly models: FrozenField<Z, "models">;
  /** The pipeline's `frozen.lookups`, whose digests the run recorded. */
  readonly lookups: FrozenField<Z, "lookups">;
  /** Requests a row; it is written if, and only if, the record commits. */
  upsert<N extends keyof T & string>(table: N, row: RowOf<T[N]>): void;
  /** Requests the deletion of a row, under the same rule. */
  delete<N extends keyof T & string>(table: N, key: KeyOf<T[N]>): void;
  /**
   * Requests a statement of your own, run in the transaction that commits the record, once. Needs
   * a sink of `tables()` or `sql()` in the ledger's database.
   */
  sql(statement: string, params?: readonly SqlParam[]): void;
  /** Passes any value to your own sink function. */
  emit(effect: unknown): void;
  /**
   * Waits until the rows requested so far are stored, though not visible. Call it in loops that
   * request many rows without reading them with `rows()`.
   */
  flush(): Promise<void>;
  /** Writes a log line with the record's ids; masked values are removed. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, string | number>>): void;
}

/** The argument of `pipeline()`. Every field has a default except name, source and handler. */
export interface PipelineSpec<
  S extends SourceSpec,
  Out,
  T extends TablesSpec,
  F extends ReadFormat = ReadFormat,
  R extends OnRemoved = OnRemoved,
  Z extends FrozenSpec = FrozenSpec,
> {
  /** Letters, digits, dots, hyphens and underscores. Renaming starts with an empty ledger. */
  readonly name: string;
  /** A bucket with its notifications, or a queue with messages of producers. */
  readonly source: S;
  /** Validates each row of an object, or the payload of each envelope. */
  readonly schema?: StandardSchema<Out>;
  /** The format that `rows()` reads. Default: "auto", detected by content and name. */
  readonly format?: F;
  /** How CSV objects are written. Default: commas, double quotes, UTF-8 and a header. */
  readonly csv?: CsvOptions;
  /** Attempts, backoff, and which errors are worth another attempt. */
  readonly retry?: RetrySpec;
  /** Records in progress at once; a number sets `total`. Default: 10. */
  readonly concurrency?: number | ConcurrencySpec<EventOf<S, Out, R>>;
  /** The longest that one attempt may take. Default: 15 minutes. */
  readonly timeoutMs?: number;
  /** `tables({ ... })`, `sql()`, or an idempotent function that compares fences. */
  readonly sink?: TableSinkSpec<T> | SinkFunction;
  /** Paths to hide in logs, dossiers and reports: "payload.person.*", "object.key". */
  readonly mask?: readonly string[];
  /**
   * Decides whether the handler may get an event, and each row that it reads with `rows()`: called
   * once with the event alone, then with every row, before the schema. Default: all are allowed.
   */
  readonly govern?: (
    event: FactsOf<S>,
    row?: GovernedRow<S, F>,
  ) => GovernAnswer | Promise<GovernAnswer>;
  /**
   * Keeps the body of every processed message in a bucket, so that `tidegate replay` can run it
   * again. Default: messages are not kept, and cannot be replayed.
   */
  readonly archive?: ArchiveSpec;
  /** For events whose object was deleted or replaced. Default: "dead-letter". */
  readonly onMissing?: "dead-letter" | "drop" | "retry";
  /**
   * For events of removed objects: "ignore" acknowledges them, "delete-rows" deletes the rows that
   * were made from the object, "handle" runs the handler. Default: "ignore".
   */
  readonly onRemoved?: R;
  /**
   * For rows of an object that the schema rejects: "fail" dead-letters the object, "quarantine"
   * keeps the rows apart and commits the others. Default: "fail".
   */
  readonly onBadRow?: "fail" | "quarantine";
  /** FIFO queues: whether a group waits behind a dead-lettered record. Default: "halt". */
  readonly onPoison?: "halt" | "skip";
  /**
   * "receipt" reads the ledger before a first delivery instead of claiming, which saves a write;
   * "ledger" claims every record first. Default: "auto", the receipt wherever that is safe. A sink
   * function always needs a claim, because it needs a fencing token.
   */
  readonly lease?: "auto" | "receipt" | "ledger";
  /**
   * 0 for live data. Another number keeps a second pass over the same records apart; give that
   * pass its own queue. Default: 0.
   */
  readonly generation?: number;
  /** How long a delivery stays hidden without a heartbeat. Default: 1 minute. */
  readonly visibilityMs?: number;
  /** When an event happened, and what happens to events that are late. */
  readonly eventTime?: EventTimeSpec<FactsOf<S>>;
  /** How long the ledger and an outbox in its store keep rows. */
  readonly retention?: RetentionSpec;
  /**
   * The share of committed records that get a log line, from 0 (none) to 1 (all). The line has
   * level info. Default: 1.
   */
  readonly logCommits?: number;
  /** Values that the handler reads from its context, which a run and its manifest record. */
  readonly frozen?: Z;
  /** Processes one object or message. It may run again; its effects are applied once. */
  readonly handler: (
    event: EventOf<S, Out, R>,
    context: HandlerContext<T, Z>,
  ) => Promise<void> | void;
}

/** A pipeline of messages in the user's own format. Its schema is part of the source. */
export interface OwnPipelineSpec<
  D extends TextForm,
  In,
  Out,
  T extends TablesSpec,
  Z extends FrozenSpec = FrozenSpec,
> extends PipelineSpec<OwnSource<D, In, Out>, Out, T, ReadFormat, OnRemoved, Z> {
  readonly schema?: never;
}
