// Pipeline spec: the types of a pipeline file. define-pipeline.ts validates a spec and fills in its
// defaults; the runtime uses only the result.

import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { ObjectEventKind } from "../../core/events/object-identity.ts";
import type { ColumnType, TableSinkSpec, TableSpec, TablesSpec } from "../../core/table-spec.ts";
import type { SinkFunction } from "../../ports/sink.ts";
import type { LogLevel } from "../../ports/telemetry.ts";
import type { ErrorClassifier, ErrorVerdict } from "../policy/error-class.ts";

export type { ColumnType, TableSinkSpec, TableSpec, TablesSpec } from "../../core/table-spec.ts";
export type { ErrorClassifier, ErrorVerdict };

/** The part of the Standard Schema interface in use; zod, valibot and arktype implement it. */
export interface StandardSchema<Output> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | PromiseLike<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

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

export type SourceSpec = BucketSource | QueueSource;

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
}

export interface ConcurrencySpec<Event> {
  /** Records that this process handles at the same time. Default: 10. */
  readonly total?: number;
  /** Records with the same key that run at the same time. Default with a key: 1. */
  readonly perKey?: number;
  /** Groups records that must not run concurrently, for example by bucket and prefix. */
  readonly key?: (event: Event) => string;
}

type ValueOf<C extends ColumnType> = C extends "text"
  ? string
  : C extends "boolean"
    ? boolean
    : number;

/** A row that a handler writes: key columns are required, others may be null or absent. */
export type RowOf<T extends TableSpec> = {
  readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]>;
} & {
  readonly [C in Exclude<keyof T["columns"], T["key"][number]>]?: ValueOf<T["columns"][C]> | null;
};

export type KeyOf<T extends TableSpec> = {
  readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]>;
};

/** An object that was created, changed or removed. */
export interface ObjectInput<Row> {
  readonly kind: ObjectEventKind;
  readonly object: ObjectEvent;
  /** Streams the rows, each validated against the schema. Iterate once. */
  rows(): AsyncIterable<Row>;
  bytes(): AsyncIterable<Uint8Array>;
  /** Reads the whole object as text, up to TEXT_BYTES_MAX. */
  text(): Promise<string>;
}

/** A producer's message. */
export interface MessageInput<Payload> {
  readonly envelope: MessageEnvelope;
  /** Validated against the schema. */
  readonly payload: Payload;
}

export type EventOf<S extends SourceSpec, Out> = S extends { readonly bucket: string }
  ? ObjectInput<Out>
  : S extends { readonly contents: "objects" }
    ? ObjectInput<Out>
    : MessageInput<Out>;

export interface HandlerContext<T extends TablesSpec = TablesSpec> {
  /** The idempotency key of the record: the same for every delivery. */
  readonly key: string;
  /** The fencing token of the claim; null if the queue's receipt serves as the lease. */
  readonly fence: number | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** "late" if the record's event time is before the watermark. */
  readonly lane: "live" | "late";
  /**
   * Aborts when the lease is lost, the timeout passes or the process stops. It also aborts when the
   * handler ends, so that work it left behind stops.
   */
  readonly signal: AbortSignal;
  /** Requests a row; it is written if, and only if, the record commits. */
  upsert<N extends keyof T & string>(table: N, row: RowOf<T[N]>): void;
  /** Requests the deletion of a row, under the same rule. */
  delete<N extends keyof T & string>(table: N, key: KeyOf<T[N]>): void;
  /** Passes any value to your own sink function. */
  emit(effect: unknown): void;
  /** Writes a log line with the record's ids; masked values are removed. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, string | number>>): void;
}

export interface PipelineSpec<
  S extends SourceSpec,
  Out,
  T extends TablesSpec,
  F extends ReadFormat = ReadFormat,
> {
  /** Letters, digits, dots, hyphens and underscores. Renaming starts with an empty ledger. */
  readonly name: string;
  readonly source: S;
  /** Validates each row of an object, or the payload of each message. */
  readonly schema?: StandardSchema<Out>;
  /** The format that `rows()` reads. Default: "auto", detected by content and name. */
  readonly format?: F;
  readonly retry?: RetrySpec;
  readonly concurrency?: number | ConcurrencySpec<EventOf<S, Out>>;
  /** The longest that one attempt may take. Default: 15 minutes. */
  readonly timeoutMs?: number;
  readonly sink?: TableSinkSpec<T> | SinkFunction;
  /** Paths to hide in logs, dossiers and reports: "payload.person.*", "object.key". */
  readonly mask?: readonly string[];
  /** For events whose object was deleted or replaced. Default: "dead-letter". */
  readonly onMissing?: "dead-letter" | "drop" | "retry";
  /** FIFO queues: whether a group waits behind a dead-lettered record. Default: "halt". */
  readonly onPoison?: "halt" | "skip";
  /**
   * "receipt" saves one ledger write per record, "ledger" claims every record first. Default:
   * "auto", the receipt wherever that is safe. A sink function always needs a claim, because it
   * needs a fencing token.
   */
  readonly lease?: "auto" | "receipt" | "ledger";
  /** 0 for live data; another number for a replay. Default: 0. */
  readonly generation?: number;
  /** How long a delivery stays hidden without a heartbeat. Default: 1 minute. */
  readonly visibilityMs?: number;
  /** How far event times may lag behind the newest before a record is late. Default: 10 minutes. */
  readonly allowedLatenessMs?: number;
  /** Days for which the ledger keeps a record; a later duplicate is processed. Default: 45. */
  readonly ledgerRetentionDays?: number;
  /**
   * Decides whether an error is retried, before PermanentError, RetryLater and the built-in table
   * of error classes. Return undefined to leave an error to them.
   */
  readonly classifyError?: ErrorClassifier;
  readonly handler: (event: EventOf<S, Out>, context: HandlerContext<T>) => Promise<void> | void;
}
