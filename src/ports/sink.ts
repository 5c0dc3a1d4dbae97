// Sink: where the effects of a handler go.
//   K1. A transactional sink lives in the ledger's database: its effects become statements in the
//       ledger's commit, so that both happen or neither.
//   K2. An idempotent sink lives elsewhere. It is called before the commit, under a claim, and may
//       be called again with the same key and a higher fence; the later call must win.
//   K3. Whether a ledger and a sink work together is checked when a pipeline starts, not later.

import type { SinkWrite } from "../core/sink-write.ts";
import type { SqlStatement } from "../core/sql-statement.ts";
import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "./record.ts";

/** A value of a row; which ones a column accepts depends on its type. */
export type ColumnValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | readonly ColumnValue[]
  | { readonly [name: string]: ColumnValue };
export type SinkRow = Readonly<Record<string, ColumnValue>>;

/** A row as a SQLite database returns it. */
export type TableRow = Readonly<
  Record<string, string | number | bigint | boolean | Uint8Array | null>
>;

/** One write that a handler requests because of a record. */
export type Effect =
  | { readonly kind: "upsert"; readonly table: string; readonly row: SinkRow }
  | { readonly kind: "delete"; readonly table: string; readonly key: SinkRow }
  /** A statement of the handler, only in the ledger's transaction (K1). */
  | ({ readonly kind: "sql" } & SqlStatement)
  /** Anything that a user's sink understands. */
  | { readonly kind: "custom"; readonly value: unknown };

/** What a sink must know about the record, in addition to its effects. */
export interface EffectOrigin {
  readonly key: RecordKey;
  /**
   * The object that these rows belong to. Null for messages without an object, and for events that
   * neither create nor remove an object (tags, restores). Such events are not a version of it, so a
   * sink must not treat missing effects as deleted rows.
   */
  readonly object: {
    readonly bucket: string;
    readonly key: string;
    readonly sequencer: string | null;
    /** The object was deleted, and its rows must be removed. */
    readonly removed: boolean;
    /**
     * Set if the rows are only a part of the version that the record with this key wrote: they are
     * added to it, and change nothing if a newer version was written since.
     */
    readonly addsTo?: RecordKey;
  } | null;
  /** As the ledger recorded it first: the same for every attempt, redrive and replay. */
  readonly eventTime: EpochMs;
}

/** The database of a sink, as far as it is used outside of a record's commit. */
export interface SinkStore {
  /** Runs writes in a transaction of their own, durable when it resolves. */
  run(writes: readonly SinkWrite[]): Promise<void>;
  /** The rows that one statement returns. */
  read(write: SinkWrite): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** One attempt at a record whose effects are too many for memory. */
export interface StagedRowsRequest {
  readonly key: RecordKey;
  /** Null if the queue's receipt is the lease. */
  readonly fence: Fence | null;
  readonly owner: string;
  readonly startedAt: EpochMs;
  /** After this, the attempt is over, and its rows may be removed. */
  readonly expiresAt: EpochMs;
}

/** Effects of one attempt that are stored, but not visible. */
export interface RowStaging {
  /** Effects so far, by kind and table. */
  readonly counts: ReadonlyMap<string, number>;
  /** Stores effects; the previous call must have ended. The next call may throw its failure. */
  add(effects: readonly Effect[]): Promise<void>;
  /** Call it after the last `add`. */
  seal(): Promise<void>;
  /** Removes the stored rows, whether or not they were committed. */
  discard(): Promise<void>;
}

export interface TransactionalStagedRows extends RowStaging {
  readonly mode: "transactional";
  /** The statements that make the rows visible, to run within the record's commit (K1). */
  merge(origin: EffectOrigin): readonly SinkWrite[];
}

export interface IdempotentStagedRows extends RowStaging {
  readonly mode: "idempotent";
  /** Makes the rows visible, as `apply` of the sink does. */
  apply(origin: EffectOrigin & { readonly fence: Fence }, signal: AbortSignal): Promise<void>;
}

export type StagedRows = TransactionalStagedRows | IdempotentStagedRows;

export interface TransactionalSink {
  readonly mode: "transactional";
  readonly dialect: "sqlite" | "postgres";
  /** Creates missing tables; throws TG_CONFIG_INVALID if existing ones differ. */
  prepare(): Promise<void>;
  /** The statements of one record, to run within its commit (K1). */
  plan(effects: readonly Effect[], origin: EffectOrigin): readonly SinkWrite[];
  /** Begins to store the effects of a large record; absent if the sink cannot. */
  stage?(request: StagedRowsRequest, store: SinkStore): TransactionalStagedRows;
  /** Removes rows of attempts that are over; returns how many attempts. */
  sweepStages?(store: SinkStore, now: EpochMs): Promise<number>;
  close(): Promise<void>;
}

export interface IdempotentSink {
  readonly mode: "idempotent";
  prepare(): Promise<void>;
  apply(
    effects: readonly Effect[],
    origin: EffectOrigin & { readonly fence: Fence },
    signal: AbortSignal,
  ): Promise<void>;
  /** Whether `apply` is called for messages without effects, too. Default: false. */
  readonly appliesEmpty?: boolean;
  /** As in a transactional sink. */
  stage?(request: StagedRowsRequest): IdempotentStagedRows;
  sweepStages?(now: EpochMs): Promise<number>;
  close(): Promise<void>;
}

/** A user's sink function; it must be idempotent as described in K2. */
export type SinkFunction = (
  effects: readonly unknown[],
  about: {
    readonly key: string;
    readonly fence: number;
    readonly object: { readonly bucket: string; readonly key: string } | null;
    readonly signal: AbortSignal;
  },
) => Promise<void> | void;

export type Sink = TransactionalSink | IdempotentSink;
