// Sink: where the effects of a handler go.
//   K1. A transactional sink lives in the ledger's database: its effects become statements in the
//       ledger's commit, so that both happen or neither.
//   K2. An idempotent sink lives elsewhere. It is called before the commit, under a claim, and may
//       be called again with the same key and a higher fence; the later call must win.
//   K3. Whether a ledger and a sink work together is checked when a pipeline starts, not later.

import type { SinkWrite } from "../core/sink-write.ts";
import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "./record.ts";

export type ColumnValue = string | number | boolean | null;
export type SinkRow = Readonly<Record<string, ColumnValue>>;

/** One write that a handler requests because of a record. */
export type Effect =
  | { readonly kind: "upsert"; readonly table: string; readonly row: SinkRow }
  | { readonly kind: "delete"; readonly table: string; readonly key: SinkRow }
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
  } | null;
  readonly eventTime: EpochMs;
}

export interface TransactionalSink {
  readonly mode: "transactional";
  readonly dialect: "sqlite" | "postgres";
  /** Creates missing tables; throws TG_CONFIG_INVALID if existing ones differ. */
  prepare(): Promise<void>;
  /** The statements of one record, to run within its commit (K1). */
  plan(effects: readonly Effect[], origin: EffectOrigin): readonly SinkWrite[];
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
