// Lineage facts: what a run read and what it wrote, as recorded. Every rendering (PROV, DCAT, STAC,
// OpenLineage) is a pure function of these facts, so all of them say the same.
//   F1. Names of datasets, objects and runs are the same in every rendering (names.ts).
//   F2. Facts come from the ledger and the sink. A rendering adds no clock and no randomness: the
//       same facts always give the same document.

import type { EpochMs } from "../core/units.ts";

/** One life of a process, or one replay or backfill. */
export interface LineageRun {
  /** A UUID. */
  readonly id: string;
  readonly kind: "live" | "replay" | "backfill";
  readonly pipeline: string;
  readonly generation: number;
  readonly startedAt: EpochMs;
  /** Null while the run continues, and after a crash. */
  readonly endedAt: EpochMs | null;
  /** SHA-256 in hexadecimal. */
  readonly codeDigest: string;
  readonly configDigest: string;
  /** The version of Tidegate. */
  readonly version: string;
  /** The event times of a replay, half-open. */
  readonly window: { readonly from: EpochMs; readonly to: EpochMs } | null;
  /** The run whose outputs this one replaces. */
  readonly revisionOf: string | null;
  /** Why the run failed as a whole; null if it did not. */
  readonly failure: string | null;
}

/** The object version of an input. */
export interface LineageObject {
  readonly bucket: string;
  readonly key: string;
  readonly versionId: string | null;
  readonly etag: string | null;
  readonly size: number | null;
}

/** One record that the run committed: an object version, or a message. */
export interface LineageInput {
  readonly recordKey: string;
  readonly eventId: string | null;
  readonly object: LineageObject | null;
  /** The queue or event source; null for objects. */
  readonly source: string | null;
  readonly messageId: string | null;
  readonly eventTime: EpochMs;
  /** Of the bytes of the object or the message, `algorithm:hexadecimal`; null without one. */
  readonly hash: string | null;
}

export interface LineageColumn {
  readonly name: string;
  readonly type: string;
}

/** A table, or a set of objects, that the run wrote to. */
export interface LineageOutput {
  /** Unique within the pipeline, such as the name of a table. */
  readonly name: string;
  readonly kind: "table" | "objects";
  /** Where it can be read, without credentials: `postgres://host/db`, `sqlite:file`, `s3://b/p/`. */
  readonly accessUrl: string;
  /** Rows or objects that the run wrote. */
  readonly rows: number;
  /** SHA-256 in hexadecimal over everything that the run wrote to it. */
  readonly contentHash: string;
  readonly columns: readonly LineageColumn[];
}

export interface LineageFacts {
  readonly run: LineageRun;
  readonly inputs: readonly LineageInput[];
  readonly outputs: readonly LineageOutput[];
}
