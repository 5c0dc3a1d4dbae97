// Redrive stop: when a redrive does more harm than good.
//   H1. A few failures say nothing: at least `failuresMin` have to come back.
//   H2. Only what came to an end is counted; what still waits speaks neither for nor against.

export interface RedriveStopRule {
  readonly failuresMin: number;
  /** The share of ended items, from 0 to 1, above which the run stops. */
  readonly failedShareMax: number;
}

export const REDRIVE_STOP_DEFAULT: RedriveStopRule = { failuresMin: 5, failedShareMax: 0.5 };

export interface RedriveEnds {
  readonly committed: number;
  readonly failedAgain: number;
}

export function tooManyFailAgain(ends: RedriveEnds, rule: RedriveStopRule): boolean {
  const ended = ends.committed + ends.failedAgain; // H2
  if (ends.failedAgain < rule.failuresMin) return false; // H1
  return ends.failedAgain / ended > rule.failedShareMax;
}
