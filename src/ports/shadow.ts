// Shadow: a second copy of a sink's outputs, which a replay fills and an operator promotes.
//   H1. Live outputs are not touched before a promotion.
//   H2. A promotion is atomic, and happens once. It loses no live write: an object with a newer
//       event, or with rows that were added since, keeps its live rows.
//   H3. A shadow is complete or it is not promoted: `seal` marks it, after the last record.

import type { ColumnValue, Sink } from "./sink.ts";

export type ShadowState = "open" | "ready" | "promoted";

/** What identifies a shadow. */
export interface ShadowName {
  /** A few hex digits, part of the names of its tables. */
  readonly id: string;
  readonly run: string;
}

/** A row that a promotion would add, remove or change. */
export interface RowDifference {
  readonly kind: "added" | "removed" | "changed";
  readonly key: Readonly<Record<string, ColumnValue>>;
  /** The other columns now, as the database shows them; null without a row. */
  readonly live: Readonly<Record<string, ColumnValue>> | null;
  /** The other columns after a promotion. */
  readonly replayed: Readonly<Record<string, ColumnValue>> | null;
}

/** What a promotion would change in a table. */
export interface TableDifference {
  readonly table: string;
  readonly shadow: string;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  /** Objects that a promotion would leave alone (H2). */
  readonly keptObjects: number;
  readonly samples: readonly RowDifference[];
}

/** The objects that a promotion replaced, and those that kept their live rows (H2). */
export interface Promotion {
  readonly appliedObjects: number;
  readonly keptObjects: number;
  /** Messages of the shadow; their rows apply key by key. */
  readonly messages: number;
}

/** The rows of a shadow table, as hashes. */
export interface TableContent {
  readonly table: string;
  readonly rows: number;
  /** Depends on the rows only: not on their order, nor on the database. */
  readonly contentHash: string;
}

export interface Shadow {
  /** The shadow's table of each table of the pipeline. */
  readonly tables: ReadonlyMap<string, string>;
  /** A sink that writes to the shadow; call `open` first. */
  sink(): Sink;
  /** Creates what is missing. */
  open(): Promise<void>;
  /** Null if it does not exist. */
  state(): Promise<ShadowState | null>;
  /** H3 */
  seal(): Promise<void>;
  diff(samplesMax: number): Promise<readonly TableDifference[]>;
  /** The rows of the shadow. */
  contents(): Promise<readonly TableContent[]>;
  /** H2; throws TG_REPLAY_REFUSED if it is not ready. */
  promote(): Promise<Promotion>;
  /** Removes it; safe to repeat. */
  drop(): Promise<void>;
  close(): Promise<void>;
}
