// Fault mix: how much of what goes wrong in a world, over how many hours.

import type { CallRates } from "./call-faults.ts";

/** What happens by itself, at instants that the seed draws; how often in the whole run. */
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
  "queue-purge",
  "object-overwritten",
  "object-deleted",
] as const;

export type TimelineFaultKind = (typeof TIMELINE_FAULTS)[number];

export interface FaultMix {
  readonly rates: CallRates;
  readonly timeline: Readonly<Record<TimelineFaultKind, number>>;
  /** Messages that become visible late, and so out of order; standard queues only. */
  readonly late: number;
  readonly lateMsMax: number;
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

const NOTHING_HAPPENS = Object.fromEntries(TIMELINE_FAULTS.map((kind) => [kind, 0])) as Record<
  TimelineFaultKind,
  number
>;

export const NO_FAULTS: FaultMix = {
  rates: NO_RATES,
  timeline: NOTHING_HAPPENS,
  late: 0,
  lateMsMax: 0,
};
