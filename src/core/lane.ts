// Lane: whether a record is on time, as decided once from its event time and a watermark.

import type { EpochMs } from "./units.ts";

/** On time, late within the allowance, or too late. */
export type Lane = "live" | "late" | "too-late";

/** The lane of a record, and the watermark that decided it. */
export interface LaneDecision {
  readonly lane: Lane;
  /** Null if no event time had been observed yet. */
  readonly watermark: EpochMs | null;
}
