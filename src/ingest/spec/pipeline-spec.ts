// Pipeline spec: what a pipeline file says. Types only; define-pipeline.ts checks it and fills in
// what was left out, and everything else works on that.

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

/** What is used of the Standard Schema interface, which zod, valibot, arktype and others have. */
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

/** Objects of a bucket, told of through a queue. */
export interface BucketSource {
  readonly bucket: string;
  readonly prefix?: string;
  /** The queue that is told of them; `tidegate dev` makes one named after the pipeline. */
  readonly queue?: string;
}

/** Messages of a queue: envelopes of our producers, or tidings of objects. */
export interface QueueSource {
  /** A name, or a URL. */
  readonly queue: string;
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
  /** How often a record is tried before it is dead-lettered; 7 unless said. */
  readonly attempts?: number;
  readonly baseMs?: number;
  readonly capMs?: number;
}

export interface ConcurrencySpec<Event> {
  /** Records at work at once in this process; 10 unless said. */
  readonly total?: number;
  /** Records with the same key at work at once; 1 serialises them. */
  readonly perKey?: number;
  /** What records have in common that must not run together, e.g. bucket and prefix. */
  readonly key?: (event: Event) => string;
}

type ValueOf<C extends ColumnType> = C extends "text"
  ? string
  : C extends "boolean"
    ? boolean
    : number;

/** A row as a handler writes it: key columns must be there, others may be null or left out. */
export type RowOf<T extends TableSpec> = {
  readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]>;
} & {
  readonly [C in Exclude<keyof T["columns"], T["key"][number]>]?: ValueOf<T["columns"][C]> | null;
};

export type KeyOf<T extends TableSpec> = {
  readonly [C in T["key"][number] & keyof T["columns"]]: ValueOf<T["columns"][C]>;
};

/** An object that came, changed or went. */
export interface ObjectInput<Row> {
  readonly kind: ObjectEventKind;
  readonly object: ObjectEvent;
  /** Its rows, checked against the schema; read once, as they are asked for. */
  rows(): AsyncIterable<Row>;
  bytes(): AsyncIterable<Uint8Array>;
  /** All of it as text, up to TEXT_BYTES_MAX. */
  text(): Promise<string>;
}

/** A message of a producer. */
export interface MessageInput<Payload> {
  readonly envelope: MessageEnvelope;
  /** Checked against the schema. */
  readonly payload: Payload;
}

export type EventOf<S extends SourceSpec, Out> = S extends { readonly bucket: string }
  ? ObjectInput<Out>
  : S extends { readonly contents: "objects" }
    ? ObjectInput<Out>
    : MessageInput<Out>;

export interface HandlerContext<T extends TablesSpec = TablesSpec> {
  /** The idempotency key of the record: the same however often it is delivered. */
  readonly key: string;
  /** Null where the queue's receipt stands in for a claim; effects are fenced all the same. */
  readonly fence: number | null;
  /** 1 for the first. */
  readonly attempt: number;
  /** "late" if the record's time lies before the watermark. */
  readonly lane: "live" | "late";
  /**
   * Aborts when the lease is lost, the deadline passes or the process stops; and when the handler
   * has ended, well or badly, so that nothing it has left behind goes on.
   */
  readonly signal: AbortSignal;
  /** Writes a row when, and only if, the record is committed. */
  upsert<N extends keyof T & string>(table: N, row: RowOf<T[N]>): void;
  delete<N extends keyof T & string>(table: N, key: KeyOf<T[N]>): void;
  /** Hands anything to a sink of your own. */
  emit(effect: unknown): void;
  /** A line in the log, with the record's ids. */
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, string | number>>): void;
}

export interface PipelineSpec<
  S extends SourceSpec,
  Out,
  T extends TablesSpec,
  F extends ReadFormat = ReadFormat,
> {
  /** Letters, digits, dots, hyphens and underscores; names its place in the ledger for ever. */
  readonly name: string;
  readonly source: S;
  /** What each row of an object, or the payload of each message, must be. */
  readonly schema?: StandardSchema<Out>;
  /** How objects are read by `rows()`; told by content and name unless said. */
  readonly format?: F;
  readonly retry?: RetrySpec;
  readonly concurrency?: number | ConcurrencySpec<EventOf<S, Out>>;
  /** How long one attempt may take; 15 minutes unless said. */
  readonly timeoutMs?: number;
  readonly sink?: TableSinkSpec<T> | SinkFunction;
  /** Paths of what nobody may see in logs and reports: "payload.person.*", "object.key". */
  readonly mask?: readonly string[];
  readonly onMissing?: "dead-letter" | "drop" | "retry";
  /** FIFO queues: whether a group waits behind a record that was given up on. */
  readonly onPoison?: "halt" | "skip";
  /**
   * "receipt" saves a write per record; "auto" takes it wherever it is safe. A sink outside the
   * ledger needs a fence, so that there the ledger is asked whatever is said here.
   */
  readonly lease?: "auto" | "receipt" | "ledger";
  /** 0 for live work; a replay has another. */
  readonly generation?: number;
  /** How long a delivery is hidden between two heartbeats. */
  readonly visibilityMs?: number;
  /** How much later than its time a record may come before it is late; 10 minutes unless said. */
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
