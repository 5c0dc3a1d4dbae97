// Tally: counts what happens, for whoever looks at the consumer and for telemetry.
//   Y1. Every outcome is counted once, when it is known.
//   Y2. The oldest unsettled event is known exactly, not approximately: it is the first of those in
//       hand or sent back. What SQS says of it leaves out messages that fail again and again.

import type { EpochMs } from "../core/units.ts";
import { msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { WorkRecord } from "./decode.ts";
import type { Hold } from "./hold.ts";
import type { Outcome } from "./outcome.ts";
import { logFieldsOf } from "./record-log-fields.ts";

export interface Counts {
  received: number;
  ignored: number;
  committed: number;
  duplicates: number;
  stale: number;
  dropped: number;
  retried: number;
  deadLettered: number;
  released: number;
  lost: number;
}

export interface Tally {
  readonly counts: Readonly<Counts>;
  /** When the oldest event was sent that is not settled, as far as this consumer knows (Y2). */
  oldestUnsettledAt(): EpochMs | null;
  received(hold: Hold): void;
  decoded(hold: Hold, records: number, ignored: readonly string[]): void;
  stage(stage: "handle" | "commit" | "total", since: EpochMs): void;
  outcome(record: WorkRecord, outcome: Outcome, hold: Hold): void;
  /** The delivery left our hands: settled for good, or to come back. */
  settled(hold: Hold, forGood: boolean): void;
}

/** Messages remembered after they were sent back; beyond that the oldest are forgotten. */
const UNSETTLED_MAX = 10_000;

export function createTally(
  ports: { readonly clock: Clock; readonly telemetry: Telemetry },
  options: { readonly queue: string; readonly runId: string },
): Tally {
  const { clock, telemetry } = ports;
  const { queue, runId } = options;
  const labels = { queue };
  const unsettled = new Map<string, EpochMs>();
  const counts: Counts = {
    received: 0,
    ignored: 0,
    committed: 0,
    duplicates: 0,
    stale: 0,
    dropped: 0,
    retried: 0,
    deadLettered: 0,
    released: 0,
    lost: 0,
  };

  function since(stage: string, at: EpochMs): void {
    const seconds = msBetween(at, clock.now()) / 1_000;
    telemetry.record("processing_latency_seconds", seconds, STAGE_LABELS[stage] ?? { stage });
  }

  return {
    counts,
    oldestUnsettledAt() {
      let oldest: EpochMs | null = null;
      for (const at of unsettled.values()) oldest = oldest === null || at < oldest ? at : oldest;
      return oldest;
    },
    received({ delivery }) {
      counts.received += 1;
      telemetry.count("messages_received_total", 1, labels);
      unsettled.set(delivery.messageId, delivery.sentAt);
      if (unsettled.size <= UNSETTLED_MAX) return;
      const [first] = unsettled.keys();
      if (first !== undefined) unsettled.delete(first);
    },
    decoded(_hold, _records, ignored) {
      counts.ignored += ignored.length;
    },
    stage: since,
    outcome(record, outcome, hold) {
      count(counts, outcome);
      if (outcome.kind === "lost") {
        telemetry.count("leases_lost_total", 1, labels);
        telemetry.log("warn", "the lease was lost", logFieldsOf(record, hold, runId));
      } else if (outcome.kind === "later") {
        if (outcome.why !== "retry") telemetry.count("messages_released_total", 1, labels);
      } else if (outcome.how === "committed" || outcome.how === "superseded") {
        telemetry.count("messages_committed_total", 1, labels);
        since("total", hold.receivedAt);
      } else if (outcome.how === "duplicate" || outcome.how === "parked-before") {
        telemetry.count("messages_duplicate_total", 1, labels);
      } else if (outcome.how === "stale") telemetry.count("messages_stale_total", 1, labels);
    },
    settled({ delivery }, forGood) {
      if (forGood) unsettled.delete(delivery.messageId);
    },
  };
}

const STAGE_LABELS: Readonly<Record<string, { readonly stage: string }>> = {
  handle: { stage: "handle" },
  commit: { stage: "commit" },
  total: { stage: "total" },
};

function count(counts: Counts, outcome: Outcome): void {
  if (outcome.kind === "lost") counts.lost += 1;
  else if (outcome.kind === "later") counts[outcome.why === "retry" ? "retried" : "released"] += 1;
  else {
    switch (outcome.how) {
      case "committed":
      case "superseded":
        counts.committed += 1;
        return;
      case "duplicate":
      case "parked-before":
        counts.duplicates += 1;
        return;
      case "stale":
        counts.stale += 1;
        return;
      case "dropped":
        counts.dropped += 1;
        return;
      case "dead-lettered":
        counts.deadLettered += 1;
    }
  }
}
