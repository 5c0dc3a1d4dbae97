// Outcome counts: how often each thing happened since the consumer started.

import { unreachable } from "../../core/assert.ts";
import type { RecordOutcome } from "../stages/outcome.ts";

export interface Counts {
  /** Deliveries, duplicates included. */
  received: number;
  /** S3's test events, ignored removals, and objects outside the pipeline's bucket and prefix. */
  ignored: number;
  committed: number;
  /** Records that were committed before, acknowledged without running the handler. */
  duplicates: number;
  /** Records of objects whose newer event is already committed. */
  stale: number;
  /** Records without their object, with `onMissing: "drop"`. */
  dropped: number;
  /** Records that were too late, kept in the ledger or sent to the late queue. */
  held: number;
  /** Failed attempts that are tried again. */
  retried: number;
  deadLettered: number;
  /** Returned to the queue without a failed attempt. */
  returned: number;
  /** Attempts whose lease ended before they did; their effects were discarded. */
  lost: number;
}

export const NO_COUNTS: Readonly<Counts> = {
  received: 0,
  ignored: 0,
  committed: 0,
  duplicates: 0,
  stale: 0,
  dropped: 0,
  held: 0,
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
  held: "held",
  "late-sent": "held",
  "held-before": "duplicates",
  "dead-lettered": "deadLettered",
} as const satisfies Record<Extract<RecordOutcome, { kind: "done" }>["how"], keyof Counts>;
