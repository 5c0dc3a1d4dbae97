// Redrive stop: decides when a redrive fails too often to continue.
//   H1. A few failures prove nothing: at least `failuresMin` records have to fail again.
//   H2. Only finished records count. Records that still wait are ignored.

import { minutes } from "../../core/units.ts";

export interface RedriveStopRule {
  readonly failuresMin: number;
  /** The share of finished records that may fail again, from 0 to 1. */
  readonly failedShareMax: number;
}

/** What a redrive does unless its caller says otherwise. */
export const REDRIVE_DEFAULTS = {
  perSecond: 10,
  limit: 100_000,
  /** Records that are followed at the same time. */
  followedMax: 100,
  /** How long each record is followed. */
  followMs: minutes(2),
  stop: { failuresMin: 5, failedShareMax: 0.5 },
} as const;

export interface RedriveEnds {
  readonly committed: number;
  readonly failedAgain: number;
}

export function tooManyFailAgain(ends: RedriveEnds, rule: RedriveStopRule): boolean {
  const ended = ends.committed + ends.failedAgain; // H2
  if (ends.failedAgain < rule.failuresMin) return false; // H1
  return ends.failedAgain / ended > rule.failedShareMax;
}
