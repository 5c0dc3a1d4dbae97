// Flow rates: how fast events move, from two readings of the same counters.
//   F1. A counter that fell was restarted with its process: the rate is unknown until the next
//       reading.
//   F2. A queue has no counter of arrivals. What arrived is what the queue has more than before,
//       plus what left it for good meanwhile.

import type { QueueFigures } from "../../operate/cloud/embedded-cloud.ts";
import type { ConsumerFigures, FlowFacts } from "../../operate/pages/flow-facts.ts";

export interface FlowReading {
  /** By the monotonic clock. */
  readonly at: number;
  readonly facts: FlowFacts;
}

/** Events per second; null if unknown. */
export interface FlowRates {
  readonly arrived: number | null;
  readonly received: number | null;
  readonly applied: number | null;
  readonly retries: number | null;
  readonly deadLetters: number | null;
}

const SECOND_MS = 1_000;
const UNKNOWN: FlowRates = {
  arrived: null,
  received: null,
  applied: null,
  retries: null,
  deadLetters: null,
};

export function ratesBetween(before: FlowReading | undefined, after: FlowReading): FlowRates {
  const earlier = before?.facts.consumer ?? null;
  const later = after.facts.consumer;
  if (before === undefined || earlier === null || later === null) return UNKNOWN;
  const spanMs = after.at - before.at;
  if (spanMs <= 0) return UNKNOWN;
  const perSecond = (count: (figures: ConsumerFigures) => number): number | null => {
    const change = count(later) - count(earlier);
    return change < 0 ? null : (change * SECOND_MS) / spanMs; // F1
  };
  const depth = depthOf(after.facts.queue) - depthOf(before.facts.queue);
  const settled = later.settled - earlier.settled;
  const isKnown = settled >= 0 && after.facts.queue !== null && before.facts.queue !== null;
  return {
    arrived: isKnown ? (Math.max(0, depth + settled) * SECOND_MS) / spanMs : null, // F2
    received: perSecond(({ received }) => received),
    applied: perSecond(({ committed }) => committed),
    retries: perSecond(({ retried }) => retried),
    deadLetters: perSecond(({ deadLettered }) => deadLettered),
  };
}

function depthOf(queue: QueueFigures | null): number {
  return queue === null ? 0 : queue.visible + queue.delayed + queue.inFlight;
}
