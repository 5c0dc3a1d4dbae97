// Statement quarantine: where in its window a statement has quarantined rows.

import type { AuditedQuarantine } from "../ports/audit.ts";

/** Open sets of quarantined rows, and in which segments their events are. */
export interface StatementQuarantine extends AuditedQuarantine {
  readonly segments: readonly QuarantinedSegment[];
}

export interface QuarantinedSegment extends AuditedQuarantine {
  /** The first instant of the segment. */
  readonly from: string;
  /** Set if it comes from the earlier statement (T4). */
  readonly carried?: true;
}

/** All segments, by their start. */
export function quarantineOf(
  byStart: ReadonlyMap<number, QuarantinedSegment>,
): StatementQuarantine {
  const segments = [...byStart].toSorted(([one], [two]) => one - two).map(([, each]) => each);
  const sum = (what: "sets" | "rows") => segments.reduce((all, each) => all + each[what], 0);
  return { sets: sum("sets"), rows: sum("rows"), segments };
}
