// Audit line: what an audit says about one object version.
//   N1. The text of a line has one spelling, so that equal findings have equal digests. The reason
//       is for people and is not part of it.

import type { EpochMs } from "../core/units.ts";
import type { AuditCounts, AuditStatus } from "../ports/audit.ts";
import type { RecordKey } from "../ports/record.ts";

export const AUDIT_STATUSES = [
  "committed",
  "superseded",
  "dead-lettered",
  "held",
  "in-flight",
  "waiting",
  "ignored",
  "gone",
  "unknown",
  "missing",
  "orphan",
  "double",
] as const satisfies readonly AuditStatus[];

/** Statuses that make an audit incomplete. */
export const FAILURES: ReadonlySet<AuditStatus> = new Set(["missing", "orphan", "double"]);

/** Statuses of objects that are accounted for, and not applied. */
export const NOT_APPLIED = [
  "dead-lettered",
  "held",
  "in-flight",
  "waiting",
] as const satisfies readonly AuditStatus[];

/** Statuses that a statement lists object by object. */
export const LISTED: ReadonlySet<AuditStatus> = new Set([...FAILURES, "unknown", ...NOT_APPLIED]);

/** What an audit says about one object version. */
export interface AuditLine {
  readonly key: string;
  readonly versionId: string | null;
  readonly etag: string | null;
  readonly size: number | null;
  /** Last modification; the event time of an object that is gone. */
  readonly at: EpochMs;
  readonly status: AuditStatus;
  /** The records that the status rests on. */
  readonly records: readonly RecordKey[];
  readonly reason: string;
}

/** N1 */
export function lineText({ key, versionId, etag, size, at, status, records }: AuditLine): string {
  return `${JSON.stringify([key, versionId, etag, size, at, status, records])}\n`;
}

export function zeroCounts(): Record<AuditStatus, number> {
  const zero = AUDIT_STATUSES.map((status): [AuditStatus, number] => [status, 0]);
  return Object.fromEntries(zero) as Record<AuditStatus, number>;
}

/** Objects that are accounted for, and not applied. */
export function notApplied(counts: AuditCounts): number {
  return NOT_APPLIED.reduce((sum, status) => sum + counts[status], 0);
}

export function sumCounts(all: Iterable<AuditCounts>): AuditCounts {
  const sum = zeroCounts();
  for (const counts of all) {
    for (const status of AUDIT_STATUSES) sum[status] += counts[status];
  }
  return sum;
}
