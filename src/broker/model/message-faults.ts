// Message faults: the strategy that send, receive, publish and bucket events consult for injected
// faults of single messages. FaultPlan implements it; without a plan, nothing is injected.
//   F1. FIFO queues keep their order and deliver once: callers ask neither for a duplicate nor for
//       a reordering on their behalf.

import type { DurationMs } from "../../core/units.ts";

export type FaultService = "queue" | "topic" | "bucket";

export interface MessageFaults {
  /** False if no fault is planned; callers then skip every other question. */
  readonly active: boolean;
  /** How much later one message becomes visible. */
  extraDelayMs(service: FaultService, name: string): DurationMs;
  /** Whether one message is delivered twice. */
  duplicates(service: FaultService, name: string): boolean;
  /** Whether a receive skips a ready message for a later one. */
  reorders(queue: string): boolean;
}

const NO_DELAY = 0 as DurationMs;

export const NO_MESSAGE_FAULTS: MessageFaults = {
  active: false,
  extraDelayMs: () => NO_DELAY,
  duplicates: () => false,
  reorders: () => false,
};
