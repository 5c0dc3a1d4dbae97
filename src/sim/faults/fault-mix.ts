// Fault mix: which faults a world has, and how many.

import type { CallRates } from "./call-faults.ts";

/** Faults that happen independently of calls, at instants that the seed draws. */
export const TIMELINE_FAULTS = [
  "kill",
  "freeze",
  "producer-freeze",
  "loop-stall",
  "skew",
  "ledger-down",
  "queue-down",
  "sink-down",
  "broker-restart",
  "drain",
  "redrive",
  "native-redrive",
  "ledger-purge",
  "late-release",
  "queue-purge",
  "object-overwritten",
  "object-deleted",
  "failed-sync",
  "clock-leap",
  "pause",
] as const;

export type TimelineFaultKind = (typeof TIMELINE_FAULTS)[number];

export interface FaultMix {
  readonly rates: CallRates;
  /** How often each happens in the whole run. */
  readonly timeline: Readonly<Record<TimelineFaultKind, number>>;
  /** Probability per call of the ledger or the outbox that its process freezes in it. */
  readonly frozenHolders: number;
}

export const NO_RATES: CallRates = {
  refused: 0,
  "answer-lost": 0,
  "crash-before": 0,
  "crash-after": 0,
  "slow-request": 0,
  "slow-answer": 0,
  partial: 0,
  duplicate: 0,
};

const NO_TIMELINE = Object.fromEntries(TIMELINE_FAULTS.map((kind) => [kind, 0])) as Record<
  TimelineFaultKind,
  number
>;

export const NO_FAULTS: FaultMix = {
  rates: NO_RATES,
  timeline: NO_TIMELINE,
  frozenHolders: 0,
};
