// Console control views: the console's answers about the state of a pipeline, retries, replays and
// audits. docs/reference/console-api.openapi.json describes each field; tests compare answers with
// it.

import type { AuditSummary } from "../audit.ts";

export interface PauseView {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly by: string;
  /** Empty if the operator gave none. */
  readonly reason: string;
}

export interface PipelineStateView {
  readonly pipeline: string;
  readonly generation: number;
  /** Null while it may receive. */
  readonly paused: PauseView | null;
  /** Processes that run it now; functions and tasks do not count themselves. */
  readonly processes: readonly {
    readonly id: string;
    /** Milliseconds since 1970. */
    readonly startedAt: number;
    /** Latest heartbeat. */
    readonly seenAt: number;
  }[];
}

export interface RetryView {
  readonly outcome:
    | "retried"
    | "visible"
    | "waits"
    | "missing"
    | "in-progress"
    | "committed"
    | "dead-lettered"
    | "held";
  /** The queue that has the message, if it is known. */
  readonly queue: string | null;
  /** One sentence: what happens now, or what to do. */
  readonly message: string;
}

export interface ReplayView {
  readonly run: string;
  /** Its generation in the ledger. */
  readonly generation: number;
  /** unknown: the console does not have the pipeline file. */
  readonly state:
    | "running"
    | "stopped"
    | "cancelled"
    | "failed"
    | "ready"
    | "promoted"
    | "complete"
    | "unknown";
  readonly into: "shadow" | "live";
  /** First event time, milliseconds since 1970. */
  readonly from: number;
  /** End of the window, exclusive. */
  readonly to: number;
  /** s3://bucket/prefix; null for all objects. */
  readonly prefix: string | null;
  readonly inputs: number;
  /** Object versions or messages that were gone. */
  readonly missing: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly codeDigest: string;
  /** Null if it never ran to an end. */
  readonly outcome: {
    readonly committed: number;
    readonly superseded: number;
    readonly failed: number;
    /** The first few. */
    readonly failures: readonly { readonly uri: string; readonly reason: string }[];
  } | null;
  /** The shadow's table of each table. */
  readonly tables: readonly { readonly table: string; readonly shadow: string }[];
}

export interface ReplayPageView {
  readonly replays: readonly ReplayView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

/** Column values as text. */
export type ShownRow = Readonly<Record<string, string | null>>;

export interface ReplayDiffView {
  readonly run: string;
  /** Whether values are hidden, because the pipeline has masks. */
  readonly hidden: boolean;
  readonly tables: readonly {
    readonly table: string;
    readonly added: number;
    readonly removed: number;
    readonly changed: number;
    /** Objects that a promotion would leave alone. */
    readonly keptObjects: number;
    readonly samples: readonly {
      readonly kind: "added" | "removed" | "changed";
      readonly key: ShownRow;
      readonly live: ShownRow | null;
      readonly replayed: ShownRow | null;
    }[];
  }[];
}

/** A page of audits, newest first, as the ledger keeps them. */
export interface AuditPageView {
  readonly audits: readonly AuditSummary[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly next: string | null;
}

export interface PromotionView {
  readonly appliedObjects: number;
  readonly keptObjects: number;
  /** Messages whose rows were applied, key by key. */
  readonly messages: number;
}
