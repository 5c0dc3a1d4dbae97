// Outcome counts: how often each thing happened since the consumer started.

import { unreachable } from "../../core/assert.ts";
import type { RecordOutcome } from "../stages/outcome.ts";

export interface Counts {
  received: number;
  /** S3's test events, and objects outside the pipeline's bucket and prefix. */
  ignored: number;
  committed: number;
  duplicates: number;
  stale: number;
  dropped: number;
  retried: number;
  deadLettered: number;
  /** Returned to the queue without a failed attempt. */
  returned: number;
  lost: number;
}

export const NO_COUNTS: Readonly<Counts> = {
  received: 0,
  ignored: 0,
  committed: 0,
  duplicates: 0,
  stale: 0,
  dropped: 0,
  retried: 0,
  deadLettered: 0,
  returned: 0,
  lost: 0,
};

export function countOutcome(counts: Counts, outcome: RecordOutcome): void {
  if (outcome.kind === "done") counts[NAMES[outcome.how]] += 1;
  else if (outcome.kind === "lost") counts.lost += 1;
  else if (outcome.kind === "later") counts[outcome.why === "retry" ? "retried" : "returned"] += 1;
  else unreachable(outcome);
}

const NAMES = {
  committed: "committed",
  superseded: "committed",
  duplicate: "duplicates",
  "parked-before": "duplicates",
  stale: "stale",
  dropped: "dropped",
  "dead-lettered": "deadLettered",
} as const satisfies Record<Extract<RecordOutcome, { kind: "done" }>["how"], keyof Counts>;
