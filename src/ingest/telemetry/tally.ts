// Tally: counts what happens, for whoever looks at the consumer and for telemetry.
//   Y1. Every outcome is counted once, when it is known.
//   Y2. The oldest unsettled event is the first of those in hand or sent back. What SQS says of it
//       leaves out messages that fail again and again. One that was sent back and does not return
//       within its delay and a while is in another consumer's hands and forgotten here.
//   Y3. A record's span ends with its outcome. Its status is an error, and `error.type` the class
//       of that error, if and only if the attempt failed (O4 of outcome.ts). The duration of every
//       attempt that ran the handler is recorded with the same type, unless it was interrupted by a
//       shutdown.
//   Y4. What is acknowledged because it lies outside the pipeline's bucket and prefix is counted,
//       and one in a while is told: a misspelt bucket would empty its queue without a word.

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
import type { InFlightDelivery } from "../running/in-flight-delivery.ts";
import type { WorkRecord } from "../stages/decode.ts";
import { errorTypeOf, type RecordOutcome } from "../stages/outcome.ts";
import type { Settlement } from "../stages/settle.ts";
import { MESSAGING_SYSTEM, CONSUMER_METRICS as METRICS, type StageName } from "./metrics.ts";
import { type Counts, countOutcome, NO_COUNTS } from "./outcome-counts.ts";
import { logFieldsOf } from "./record-log-fields.ts";
import type { RecordMask } from "./record-mask.ts";

export interface Tally {
  readonly counts: Readonly<Counts>;
  /** When the oldest event was sent that is not settled, as far as this consumer knows (Y2). */
  oldestUnsettledAt(): EpochMs | null;
  received(inFlight: InFlightDelivery): void;
  decoded(inFlight: InFlightDelivery, ignored: readonly string[]): void;
  /** Begins the span of a record at work. */
  begin(record: WorkRecord, inFlight: InFlightDelivery): Span;
  /** Settling takes place after the delivery has left our hands, and is measured there. */
  stage(stage: OwnStage, since: EpochMs): void;
  /** An attempt that began at `since` ran the handler and ended (Y3). */
  handled(since: EpochMs, outcome: RecordOutcome): void;
  outcome(record: WorkRecord, outcome: RecordOutcome, inFlight: InFlightDelivery): void;
  /** The delivery left our hands: settled for good, or to come back. */
  settled(inFlight: InFlightDelivery, settlement: Settlement): void;
}

type OwnStage = Exclude<StageName, "settle">;

interface Unsettled {
  readonly sentAt: EpochMs;
  /** Null while it is in hand. */
  readonly forgetAt: EpochMs | null;
}

/** How long after its delay a message that was sent back may stay away. */
const RETURN_MS_MAX: DurationMs = minutes(5);
/** Messages remembered after they were sent back; beyond that the oldest are forgotten. */
const UNSETTLED_MAX = 10_000;
const TELL_AGAIN_MS: DurationMs = minutes(1);

export interface TallyPorts {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly masked: RecordMask;
}

export interface TallyOptions {
  readonly queue: string;
  readonly runId: string;
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
  #toldElsewhereAt: EpochMs | null = null;

  constructor(ports: TallyPorts, options: TallyOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#labels = { queue: options.queue };
    const place = {
      messaging_system: MESSAGING_SYSTEM,
      messaging_destination_name: options.queue,
    };
    this.#consumed = { ...place, messaging_operation_name: "receive" };
    this.#processed = { ...place, messaging_operation_name: "process", error_type: "" };
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
    if (ignored.includes("elsewhere")) this.#tellElsewhere(delivery.messageId);
    this.stage("decode", receivedAt);
  }

  /** Y4 */
  #tellElsewhere(messageId: string): void {
    const { clock, telemetry } = this.#ports;
    const now = clock.now();
    if (this.#toldElsewhereAt !== null && msBetween(this.#toldElsewhereAt, now) < TELL_AGAIN_MS) {
      return;
    }
    this.#toldElsewhereAt = now;
    const message = "objects outside the pipeline's bucket and prefix are acknowledged unhandled";
    telemetry.log("warn", message, { ...this.#labels, message_id: messageId });
  }

  begin({ identity }: WorkRecord, { delivery, trace }: InFlightDelivery): Span {
    const { queue } = this.#options;
    return this.#ports.telemetry.span(`process ${queue}`, {
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
    });
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
      if (outcome.why === "busy") count(METRICS.duplicates.name);
    } else if (outcome.how === "committed" || outcome.how === "superseded") {
      count(METRICS.committed.name);
    } else if (outcome.how === "duplicate" || outcome.how === "parked-before") {
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

const STAGE_LABELS: { readonly [S in OwnStage]: { readonly stage: S } } = {
  receive: { stage: "receive" },
  decode: { stage: "decode" },
  claim: { stage: "claim" },
  handle: { stage: "handle" },
  commit: { stage: "commit" },
  total: { stage: "total" },
};
