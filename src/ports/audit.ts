// Audit: what an audit says about object versions, and the short form in which a ledger keeps the
// results of the latest audits of a pipeline.

import type { EpochMs } from "../core/units.ts";

/**
 * The status of one object version. Each has exactly one.
 *
 * | status        | meaning                                                                       |
 * | ------------- | ----------------------------------------------------------------------------- |
 * | committed     | exactly one committed effect                                                  |
 * | superseded    | a newer version of the object replaced it, so it needs no effect              |
 * | dead-lettered | in the dead-letter queue                                                      |
 * | held          | too late, and held                                                            |
 * | in-flight     | being processed, or waiting for a retry                                       |
 * | waiting       | in the queue, or so new that its event may still arrive                       |
 * | ignored       | deleted before it was ingested                                                |
 * | gone          | committed, and no longer in the bucket                                        |
 * | unknown       | cannot be judged: the ledger has forgotten, or the queue cannot be read       |
 * | missing       | never ingested, or the sink has nothing of it, or an older version            |
 * | orphan        | rows without a commit, or of an object whose removal was never ingested       |
 * | double        | two committed effects                                                         |
 */
export type AuditStatus =
  | "committed"
  | "superseded"
  | "dead-lettered"
  | "held"
  | "in-flight"
  | "waiting"
  | "ignored"
  | "gone"
  | "unknown"
  | "missing"
  | "orphan"
  | "double";

/** How many object versions have each status. */
export type AuditCounts = Readonly<Record<AuditStatus, number>>;

/**
 * "complete": everything is applied, once. "accounted": nothing is lost, but something is not
 * applied: dead-lettered, held, in flight, waiting or quarantined. "incomplete": something is
 * missing, orphaned or doubled. "undecided": nothing is, as far as it can be judged, but something
 * is unknown.
 */
export type AuditVerdict = "complete" | "accounted" | "incomplete" | "undecided";

/** Rows of applied objects that their schema rejected, and that wait in quarantine. */
export interface AuditedQuarantine {
  readonly sets: number;
  readonly rows: number;
}

/** An object version whose status needs attention. */
export interface AuditException {
  readonly key: string;
  /** Null in a bucket without versions. */
  readonly versionId: string | null;
  readonly status: AuditStatus;
  readonly reason: string;
}

/** The result of one audit, as the ledger keeps it for `listAudits`. */
export interface AuditSummary {
  readonly id: string;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
  readonly bucket: string;
  readonly prefix: string;
  /** Only keys that end with it must have taken effect. Default: all. */
  readonly suffix?: string;
  /** Null: since the first object. */
  readonly from: EpochMs | null;
  /** Exclusive. */
  readonly to: EpochMs;
  readonly verdict: AuditVerdict;
  readonly counts: AuditCounts;
  readonly quarantined: AuditedQuarantine;
  /** SHA-256 of the statement. */
  readonly digest: string;
  /** The first exceptions of the statement. */
  readonly exceptions: readonly AuditException[];
  /** Whether the sink was compared as well. */
  readonly sinkChecked: boolean;
}
