// Tally: counts what happens, for whoever looks at the consumer and for telemetry.
//   Y1. Every outcome is counted once, when it is known.
//   Y2. The oldest unsettled event is known exactly, not approximately: it is the first of those in
//       hand or sent back. What SQS says of it leaves out messages that fail again and again.
//   Y3. A record's span ends with its outcome and tells what went wrong, if anything did.

import { type EpochMs, msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Span, Telemetry } from "../ports/telemetry.ts";
import type { WorkRecord } from "./decode.ts";
import type { Hold } from "./hold.ts";
import { MESSAGING_SYSTEM, CONSUMER_METRICS as METRICS, type Stage } from "./metrics.ts";
import type { Outcome } from "./outcome.ts";
import { type Counts, countOutcome, NO_COUNTS } from "./outcome-counts.ts";
import { logFieldsOf } from "./record-log-fields.ts";

export interface Tally {
  readonly counts: Readonly<Counts>;
  /** When the oldest event was sent that is not settled, as far as this consumer knows (Y2). */
  oldestUnsettledAt(): EpochMs | null;
  received(hold: Hold): void;
  decoded(hold: Hold, ignored: readonly string[]): void;
  /** Begins the span of a record at work. */
  begin(record: WorkRecord, hold: Hold): Span;
  stage(stage: Stage, since: EpochMs): void;
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
  const messaging = {
    messaging_system: MESSAGING_SYSTEM,
    messaging_operation_name: "process",
    messaging_destination_name: queue,
  };
  const received = { ...messaging, messaging_operation_name: "receive" };
  const processed = { ...messaging, error_type: "" };
  const unsettled = new Map<string, EpochMs>();
  const counts: Counts = { ...NO_COUNTS };

  function stage(name: Stage, since: EpochMs): void {
    const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
    telemetry.record(METRICS.latency.name, seconds, STAGE_LABELS[name]);
  }

  return {
    counts,
    stage,
    oldestUnsettledAt() {
      let oldest: EpochMs | null = null;
      for (const at of unsettled.values()) oldest = oldest === null || at < oldest ? at : oldest;
      return oldest;
    },
    received({ delivery }) {
      counts.received += 1;
      telemetry.count(METRICS.received.name, 1, labels);
      telemetry.count(METRICS.messagingConsumed.name, 1, received);
      stage("receive", delivery.sentAt);
      unsettled.set(delivery.messageId, delivery.sentAt);
      if (unsettled.size <= UNSETTLED_MAX) return;
      const [first] = unsettled.keys();
      if (first !== undefined) unsettled.delete(first);
    },
    decoded({ receivedAt }, ignored) {
      counts.ignored += ignored.length;
      stage("decode", receivedAt);
    },
    begin: ({ identity }, { delivery, trace }) =>
      telemetry.span(`process ${queue}`, {
        kind: "consumer",
        parent: trace.context,
        attributes: {
          "messaging.operation.name": "process",
          "messaging.operation.type": "process",
          "messaging.system": MESSAGING_SYSTEM,
          "messaging.destination.name": queue,
          "messaging.message.id": delivery.messageId,
          "tidegate.idempotency_key": identity,
        },
      }),
    outcome(record, outcome, hold) {
      countOutcome(counts, outcome);
      if (outcome.kind === "lost") {
        telemetry.count(METRICS.leasesLost.name, 1, labels);
        telemetry.log("warn", "the lease was lost", logFieldsOf(record, hold, runId));
      } else if (outcome.kind === "later") {
        if (outcome.why !== "retry") telemetry.count(METRICS.released.name, 1, labels);
        if (outcome.why === "busy") telemetry.count(METRICS.duplicates.name, 1, labels);
      } else if (outcome.how === "committed" || outcome.how === "superseded") {
        telemetry.count(METRICS.committed.name, 1, labels);
        const seconds = msBetween(hold.receivedAt, clock.now()) / 1_000;
        telemetry.record(METRICS.messagingProcess.name, Math.max(0, seconds), processed);
      } else if (outcome.how === "duplicate" || outcome.how === "parked-before") {
        telemetry.count(METRICS.duplicates.name, 1, labels);
      } else if (outcome.how === "stale") telemetry.count(METRICS.stale.name, 1, labels);
    },
    settled({ delivery, receivedAt }, forGood) {
      stage("total", receivedAt);
      if (forGood) unsettled.delete(delivery.messageId);
    },
  };
}

const STAGE_LABELS: Readonly<Record<Stage, { readonly stage: Stage }>> = {
  receive: { stage: "receive" },
  decode: { stage: "decode" },
  claim: { stage: "claim" },
  handle: { stage: "handle" },
  commit: { stage: "commit" },
  settle: { stage: "settle" },
  total: { stage: "total" },
};
