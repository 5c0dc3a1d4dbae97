// Tally: counts outcomes, for the snapshot and for telemetry.
//   Y1. Every outcome is counted once, when it is known.
//   Y2. The oldest unsettled event is the oldest of those in flight or returned. The age that SQS
//       reports leaves out messages that fail repeatedly. A returned message that is not received
//       here again some time after its delay is with another consumer, and is forgotten here.
//   Y3. A record's span ends with its outcome. Its status is an error, and `error.type` the class
//       of that error, if and only if the attempt failed (O4 of outcome.ts). The duration of every
//       attempt that ran the handler is recorded with the same type, unless it was interrupted by a
//       shutdown.
//   Y4. Objects outside the pipeline's bucket and prefix are acknowledged and counted, and one per
//       interval is logged: a misspelt bucket would otherwise empty its queue silently.
//   Y5. A share of the committed records is logged, evenly: with 0.1, every tenth one.
//   Y7. The parent of a process span is the span that created the message. It links the receive,
//       which is its parent if the message has no trace.
//   Y6. Quarantined rows are counted and logged when they are committed, every time.

import { parseInstant } from "../../core/encoding/rfc3339.ts";
import {
  addMs,
  type DurationMs,
  durationMs,
  type EpochMs,
  minutes,
  msBetween,
} from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Labels, Span, Telemetry } from "../../ports/telemetry.ts";
import type { BadRow } from "../quarantine/quarantine.ts";
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { errorTypeOf, type RecordOutcome } from "../stages/outcome.ts";
import type { Settlement } from "../stages/settle.ts";
import { MESSAGING_SYSTEM, CONSUMER_METRICS as METRICS, type StageName } from "./metrics.ts";
import { type Counts, countOutcome, NO_COUNTS } from "./outcome-counts.ts";
import { logFieldsOf } from "./record-log-fields.ts";
import type { RecordMask } from "./record-mask.ts";
import { childSpan, messagingAttributes } from "./record-spans.ts";

export interface Tally {
  readonly counts: Readonly<Counts>;
  /** When the oldest unsettled event of this consumer was sent (Y2). */
  oldestUnsettledAt(): EpochMs | null;
  received(inFlight: InFlightDelivery): void;
  decoded(inFlight: InFlightDelivery, ignored: readonly string[]): void;
  /** Starts the span of a record. */
  begin(record: WorkRecord, inFlight: InFlightDelivery): Span;
  /** Starts a span below that of the record. */
  child(record: WorkRecord, name: "claim" | "commit"): Span;
  /** Records the duration of a stage; the settler measures its own. */
  stage(stage: OwnStage, since: EpochMs): void;
  /** An attempt that started at `since` ran the handler and ended (Y3). */
  handled(since: EpochMs, outcome: RecordOutcome): void;
  /** A record was committed with that many effects, and without those bad rows (Y5, Y6). */
  committed(record: WorkRecord, inFlight: InFlightDelivery, work: CommittedWork): void;
  outcome(record: WorkRecord, outcome: RecordOutcome, inFlight: InFlightDelivery): void;
  /** The delivery is no longer in flight: deleted, or returned to the queue. */
  settled(inFlight: InFlightDelivery, settlement: Settlement): void;
}

interface CommittedWork {
  readonly since: EpochMs;
  readonly rows: number;
  readonly bad: readonly BadRow[];
}

type OwnStage = Exclude<StageName, "settle">;

interface Unsettled {
  readonly sentAt: EpochMs;
  /** Null while it is in flight. */
  readonly forgetAt: EpochMs | null;
}

/** How long after its delay a returned message may take to be received again. */
const RETURN_MS_MAX: DurationMs = minutes(5);
/** Unsettled messages remembered; beyond that, the oldest are forgotten. */
const UNSETTLED_MAX = 10_000;
const LOG_INTERVAL_MS: DurationMs = minutes(1);

export interface TallyPorts {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly masked: RecordMask;
  /** Called with the event time of every committed record. */
  readonly onCommitted?: ((eventTime: EpochMs) => void) | undefined;
}

export interface TallyOptions {
  readonly queue: string;
  readonly runId: string;
  /** The share of committed records that are logged, 0 to 1 (Y5). */
  readonly logCommits: number;
}

export function createTally(ports: TallyPorts, options: TallyOptions): Tally {
  return new QueueTally(ports, options);
}

class QueueTally implements Tally {
  readonly counts: Counts = { ...NO_COUNTS };
  readonly #ports: TallyPorts;
  readonly #options: TallyOptions;
  readonly #unsettled = new Map<string, Unsettled>();
  readonly #labels: { readonly queue: string };
  readonly #consumed: Labels;
  readonly #processed: Labels;
  #elsewhereLoggedAt: EpochMs | null = null;
  /** Reaches 1 when the next commit is logged (Y5). */
  #logDue = 0;

  constructor(ports: TallyPorts, options: TallyOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#labels = { queue: options.queue };
    const labels = {
      messaging_system: MESSAGING_SYSTEM,
      messaging_destination_name: options.queue,
    };
    this.#consumed = { ...labels, messaging_operation_name: "receive" };
    this.#processed = { ...labels, messaging_operation_name: "process", error_type: "" };
  }

  oldestUnsettledAt(): EpochMs | null {
    const now = this.#ports.clock.now();
    let oldest: EpochMs | null = null;
    for (const [messageId, { sentAt, forgetAt }] of this.#unsettled) {
      if (forgetAt !== null && forgetAt <= now)
        this.#unsettled.delete(messageId); // Y2
      else oldest = oldest === null || sentAt < oldest ? sentAt : oldest;
    }
    return oldest;
  }

  received({ delivery }: InFlightDelivery): void {
    const { telemetry } = this.#ports;
    this.counts.received += 1;
    telemetry.count(METRICS.received.name, 1, this.#labels);
    telemetry.count(METRICS.messagingConsumed.name, 1, this.#consumed);
    this.stage("receive", delivery.sentAt);
    this.#unsettled.set(delivery.messageId, { sentAt: delivery.sentAt, forgetAt: null });
    if (this.#unsettled.size <= UNSETTLED_MAX) return;
    const [first] = this.#unsettled.keys();
    if (first !== undefined) this.#unsettled.delete(first);
  }

  decoded({ receivedAt, delivery }: InFlightDelivery, ignored: readonly string[]): void {
    this.counts.ignored += ignored.length;
    for (const reason of ignored) {
      this.#ports.telemetry.count(METRICS.ignored.name, 1, { ...this.#labels, reason });
    }
    if (ignored.includes("elsewhere")) this.#logElsewhere(delivery.messageId);
    this.stage("decode", receivedAt);
  }

  /** Y4 */
  #logElsewhere(messageId: string): void {
    const { clock, telemetry } = this.#ports;
    const now = clock.now();
    if (
      this.#elsewhereLoggedAt !== null &&
      msBetween(this.#elsewhereLoggedAt, now) < LOG_INTERVAL_MS
    ) {
      return;
    }
    this.#elsewhereLoggedAt = now;
    const message =
      "objects outside the pipeline's bucket and prefix are acknowledged without handling";
    telemetry.log("warn", message, { ...this.#labels, message_id: messageId });
  }

  begin({ identity }: WorkRecord, { delivery, trace, receive }: InFlightDelivery): Span {
    const { queue } = this.#options;
    const linked = receive !== null && receive !== trace.context; // Y7
    return this.#ports.telemetry.span(`process ${queue}`, {
      kind: "consumer",
      parent: trace.context,
      ...(linked && { links: [{ context: receive }] }),
      attributes: {
        ...messagingAttributes(queue, "process", "process"),
        "messaging.message.id": delivery.messageId,
        "tidegate.idempotency_key": identity,
      },
    });
  }

  child(record: WorkRecord, name: "claim" | "commit"): Span {
    return childSpan(this.#ports.telemetry, record, name);
  }

  stage(name: OwnStage, since: EpochMs): void {
    const { clock, telemetry } = this.#ports;
    const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
    telemetry.record(METRICS.latency.name, seconds, STAGE_LABELS[name]);
  }

  handled(since: EpochMs, outcome: RecordOutcome): void {
    if (outcome.kind === "later" && outcome.why === "not-run") return; // Y3
    const { clock, telemetry } = this.#ports;
    const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
    const error_type = errorTypeOf(outcome);
    const labels = error_type === null ? this.#processed : { ...this.#processed, error_type };
    telemetry.record(METRICS.messagingProcess.name, seconds, labels);
  }

  committed(
    record: WorkRecord,
    inFlight: InFlightDelivery,
    { since, rows, bad }: CommittedWork,
  ): void {
    const { queue, runId, logCommits } = this.#options;
    this.#applied(record, inFlight);
    if (bad.length > 0) this.#quarantined(record, inFlight, bad); // Y6
    this.#logDue += logCommits;
    if (this.#logDue < 1) return; // Y5
    this.#logDue -= 1;
    const { clock, telemetry, masked } = this.#ports;
    const secrets = masked.secretsOf(record);
    const object = masked.objectOf(record, secrets);
    telemetry.log("info", "committed", {
      ...logFieldsOf(record, inFlight, runId, { masked, secrets }),
      source: object === null ? queue : `s3://${object.bucket}/${object.key}`,
      rows,
      duration_ms: Math.max(0, msBetween(since, clock.now())),
    });
  }

  /** S3 says when the object was written; for a message, the queue says when it was sent. */
  #applied({ content, span = null, eventTime }: WorkRecord, { delivery }: InFlightDelivery): void {
    const { clock, telemetry, onCommitted } = this.#ports;
    const written = content.kind === "object" ? parseInstant(content.event.event_time) : null;
    const since = written?.kind === "instant" ? written.epochMs : delivery.sentAt;
    const seconds = Math.max(0, msBetween(since, clock.now())) / 1_000;
    telemetry.record(METRICS.applied.name, seconds, this.#labels, span);
    onCommitted?.(eventTime);
  }

  #quarantined(record: WorkRecord, inFlight: InFlightDelivery, bad: readonly BadRow[]): void {
    const { telemetry, masked } = this.#ports;
    telemetry.count(METRICS.quarantined.name, bad.length, this.#labels);
    const [first] = bad;
    const reason = first === undefined ? "" : `${first.unit} ${first.line}: ${first.reason}`;
    telemetry.log("warn", `rows were quarantined; the first is ${reason}`, {
      ...logFieldsOf(record, inFlight, this.#options.runId, { masked }),
      quarantined: bad.length,
    });
  }

  outcome(record: WorkRecord, outcome: RecordOutcome, inFlight: InFlightDelivery): void {
    const { telemetry, masked } = this.#ports;
    countOutcome(this.counts, outcome); // Y1
    const count = (name: string) => telemetry.count(name, 1, this.#labels);
    if (outcome.kind === "lost") {
      count(METRICS.leasesLost.name);
      const fields = logFieldsOf(record, inFlight, this.#options.runId, { masked });
      telemetry.log("warn", "the lease was lost", fields);
    } else if (outcome.kind === "later") {
      if (outcome.why !== "retry") count(METRICS.returned.name);
    } else if (outcome.how === "committed" || outcome.how === "superseded") {
      count(METRICS.committed.name);
    } else if (DUPLICATE.test(outcome.how)) {
      count(METRICS.duplicates.name);
    } else if (outcome.how === "stale") count(METRICS.stale.name);
  }

  settled({ delivery, receivedAt }: InFlightDelivery, settlement: Settlement): void {
    this.stage("total", receivedAt);
    const { messageId, sentAt } = delivery;
    if (settlement.kind === "delete") {
      this.#unsettled.delete(messageId);
      return;
    }
    const awayMs = settlement.kind === "return" ? settlement.delayMs : durationMs(0);
    const forgetAt = addMs(this.#ports.clock.now(), durationMs(awayMs + RETURN_MS_MAX));
    this.#unsettled.set(messageId, { sentAt, forgetAt });
  }
}

const DUPLICATE = /^(duplicate|parked-before|held-before)$/;

const STAGE_LABELS: { readonly [S in OwnStage]: { readonly stage: S } } = {
  receive: { stage: "receive" },
  decode: { stage: "decode" },
  claim: { stage: "claim" },
  handle: { stage: "handle" },
  commit: { stage: "commit" },
  total: { stage: "total" },
};
