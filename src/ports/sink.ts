// Sink: what becomes of the effects of a handler.
//   K1. A transactional sink lives in the ledger's own database: its effects become statements
//       that are part of the ledger's commit, so that both happen or neither.
//   K2. An idempotent sink lives elsewhere. It is called before the commit, under a claim, and may
//       be called again with the same key and a higher fence; it must let the later one win.
//   K3. Which pair of ledger and sink can work is decided when a pipeline starts, not later.

import type { SinkWrite } from "../core/sink-write.ts";
import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "./record.ts";

export type ColumnValue = string | number | boolean | null;
export type SinkRow = Readonly<Record<string, ColumnValue>>;

/** One thing a handler wants done because of a record. */
export type Effect =
  | { readonly kind: "upsert"; readonly table: string; readonly row: SinkRow }
  | { readonly kind: "delete"; readonly table: string; readonly key: SinkRow }
  /** Anything that a sink of the user's own understands. */
  | { readonly kind: "custom"; readonly value: unknown };

/** What a sink must know of the record besides its effects. */
export interface EffectOrigin {
  readonly key: RecordKey;
  /**
   * The object whose rows these are. Null for messages that tell of none, and for events that
   * neither make nor remove an object (tags, restores): as they are no version of it, a sink must
   * not take the effects they lack for rows that are gone.
   */
  readonly object: {
    readonly bucket: string;
    readonly key: string;
    readonly sequencer: string | null;
    /** The object was deleted: what came of it is to go. */
    readonly removed: boolean;
  } | null;
  readonly eventTime: EpochMs;
}

export interface TransactionalSink {
  readonly mode: "transactional";
  readonly dialect: "sqlite" | "postgres";
  /** Makes the tables that are missing; refuses those that differ, with TG_CONFIG_INVALID. */
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

/** A sink of the user's own; see K2 for what it must bear. */
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
