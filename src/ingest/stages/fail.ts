// Fail: decides what happens to a record whose attempt failed: retry, dead letter or return.
//   F1. The ledger stores a failure before the queue is called, and it counts the attempts. The
//       queue counts receives, which are not attempts.
//   F2. A record is dead-lettered when a retry cannot help or its attempts are used up. The ledger
//       parks the record and stores its dossier in one write. The dead letter follows, and only
//       then the acknowledgement.
//   F3. A sink or ledger that is down is not the record's fault: the claim is released uncounted,
//       and the delivery is returned with a delay.
//   F4. In a FIFO queue the group waits behind a dead-lettered record, unless the pipeline skips
//       it: later messages may depend on it.
//   F5. A dead letter that was moved back into its queue, for example by the SQS redrive, is the
//       only copy of its message. Its record is reopened and tried, never acknowledged as
//       dead-lettered before. The message id distinguishes a bare dead letter from the original
//       message, and its age from older copies (X6). In doubt the record is tried.
//   F6. A parked record without a dossier was dropped by an operator, because both are written in
//       one step. Its message is acknowledged.
//   F7. A dossier replaces its predecessor even if this clock is behind the predecessor's writer.
//       The ledger would drop an older note, and the dossier would describe a past failure.
//   F8. An error of a handler blames its record, whatever service the error came from: it says
//       nothing about this pipeline's sink or ledger, and other records may not need that service.
//       Rows that cannot be staged are not its error: they fail as a commit does (F3).
//   F9. An own message with the key of a dead letter and another body may be its correction. The
//       record is reopened and tried with the new body. Of all bodies under a key, the first one
//       that commits counts.
//   F10. The dead letter of a refused message has no payload (X9 of dead-letter.ts). Its record is
//       tried again when the producer sends the message again, because no other copy exists.

import { unreachable } from "../../core/assert.ts";
import type { Mask } from "../../core/encoding/mask.ts";
import { Secrets, type SecretValues } from "../../core/encoding/secrets.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Random } from "../../ports/random.ts";
import type { Fence, LedgerScope } from "../../ports/record.ts";
import type { LogFields, Telemetry } from "../../ports/telemetry.ts";
import {
  type DeadLetterQueue,
  deadLetterOf,
  isDeadLetterOf,
  mayBeBareDeadLetter,
  sendDeadLetter,
} from "../dead-letters/dead-letter.ts";
import { type Dossier, decodeDossier, encodeDossier } from "../dead-letters/dossier.ts";
import { HALT_MS, storeHalted } from "../dead-letters/halted-messages.ts";
import { type Failed, makeDossier } from "../dead-letters/make-dossier.ts";
import { isOtherBody, isSentAgain } from "../dead-letters/withheld-body.ts";
import { classify } from "../policy/error-class.ts";
import { isOf } from "../policy/error-facts.ts";
import { fingerprintOf, messageOf, stackOf } from "../policy/error-text.ts";
import { retryDelayMs } from "../policy/retry.ts";
import { type InFlightDelivery, LeaseLost, Stopping } from "../running/in-flight-delivery.ts";
import { createQueueClock, type QueueClock } from "../running/queue-clock.ts";
import { triedNote } from "../running/tried-note.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import { PermanentError } from "../spec/handler-errors.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";
import { logFieldsOf } from "../telemetry/record-log-fields.ts";
import type { RecordMask } from "../telemetry/record-mask.ts";
import { childSpan, messagingAttributes, withinSpan } from "../telemetry/record-spans.ts";
import type { Claim } from "./claim.ts";
import type { WorkRecord } from "./decode.ts";
import { LEASE_LOST, NOT_RUN, type RecordOutcome } from "./outcome.ts";

/** Why a record needs this stage. */
export type RecordFailure =
  | AttemptFailed
  /** Every allowed attempt began, and the last one did not live to report an error. */
  | { readonly kind: "exhausted"; readonly claim: Claim }
  /** The consumer stopped before the attempt finished: it does not count. */
  | { readonly kind: "stopped"; readonly claim: Claim }
  /** The record was dead-lettered before: make sure that its dead letter exists (F2). */
  | { readonly kind: "parked"; readonly fence: Fence }
  /** The ledger did not answer, or the pipeline itself failed (F3). */
  | { readonly kind: "unavailable"; readonly error: unknown };

/** The handler or the commit failed with `error`. */
interface AttemptFailed {
  readonly kind: "failed";
  readonly stage: "handle" | "commit";
  readonly claim: Claim;
  readonly error: unknown;
  /** Masked values that the error may quote, beyond those of the message itself. */
  readonly secrets: SecretValues;
}

export interface FailStage {
  /** Decides what happens to the record and writes it down (F1, F2). Never rejects. */
  fail(
    record: WorkRecord,
    failure: RecordFailure,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome>;
}

export interface FailPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  /** Null leaves dead-lettered records in their own queue. */
  readonly deadLetters: DeadLetterQueue | null;
  readonly telemetry: Telemetry;
  readonly mask: Mask;
  readonly masked: RecordMask;
}

export interface FailOptions {
  readonly pipeline: Pipeline;
  readonly scope: LedgerScope;
  readonly owner: string;
  readonly runId: string;
  readonly queue: { readonly name: string; readonly fifo: boolean };
}

export function createFailStage(ports: FailPorts, options: FailOptions): FailStage {
  return new LedgerFailures(ports, options);
}

class LedgerFailures implements FailStage {
  readonly #ports: FailPorts;
  readonly #options: FailOptions;
  readonly #deadLetters: DeadLetterQueue | null;
  readonly #queueClock: QueueClock;

  constructor(ports: FailPorts, options: FailOptions) {
    this.#queueClock = createQueueClock(ports.clock);
    this.#ports = ports;
    this.#options = options;
    const halts = options.queue.fifo && options.pipeline.onPoison === "halt"; // F4
    this.#deadLetters = halts ? null : ports.deadLetters;
  }

  async fail(record: WorkRecord, failure: RecordFailure, inFlight: InFlightDelivery) {
    try {
      switch (failure.kind) {
        case "failed":
          return await this.#failed(record, failure, inFlight);
        case "exhausted":
          return await this.#failed(record, crashOf(failure.claim), inFlight);
        case "stopped":
          return await this.#returnUncounted(record, failure.claim);
        case "parked":
          return await this.#parked(record, failure.fence, inFlight);
        case "unavailable":
          return this.#unavailable(record, failure.error, inFlight);
        default:
          return unreachable(failure);
      }
    } catch (error) {
      return this.#unavailable(record, error, inFlight); // F3
    }
  }

  async #failed(
    record: WorkRecord,
    { error, stage, claim, secrets }: AttemptFailed,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome> {
    if (isOf(error, LeaseLost)) return LEASE_LOST;
    if (isOf(error, Stopping)) return this.#returnUncounted(record, claim);
    const failed = this.#read(record, inFlight, error, secrets);
    const { retry, blames } = failed.verdict;
    if (stage === "commit" && retry !== "never" && blames !== "record") {
      await this.#release(record, claim); // F3
      return this.#unavailable(record, error, inFlight, secrets);
    }
    const last = claim.attempt >= this.#options.pipeline.retry.attempts;
    if (retry === "never" || last) return this.#park(record, claim, failed, inFlight);
    return this.#retry(record, claim, failed, inFlight);
  }

  #unavailable(
    record: WorkRecord,
    error: unknown,
    inFlight: InFlightDelivery,
    secrets?: SecretValues,
  ): RecordOutcome {
    const { random } = this.#ports;
    const failed = this.#read(record, inFlight, error, secrets);
    const { receiveCount } = inFlight.delivery;
    const delayMs = retryDelayMs(this.#options.pipeline.retry, receiveCount, random.fraction());
    this.#warn(`returned for a retry: ${failed.message}`, record, failed, delayMs, inFlight);
    const { errorClass, blames } = failed.verdict;
    const reason = failed.message;
    return { kind: "later", delayMs, why: "unavailable", blames, errorClass, reason };
  }

  async #returnUncounted(record: WorkRecord, claim: Claim): Promise<RecordOutcome> {
    await this.#release(record, claim);
    return NOT_RUN;
  }

  async #parked(
    record: WorkRecord,
    fence: Fence,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome> {
    this.#queueClock.saw(inFlight);
    if (isDeadLetterOf(inFlight.delivery, record.key, fence)) {
      await this.#ports.ledger.reopen(this.#options.scope, [record.key]); // F5
      return NOT_RUN;
    }
    const note = await this.#ports.ledger.findNote(this.#options.scope, "dossier", record.key);
    if (note === undefined) return { kind: "done", how: "parked-before" }; // F6
    const dossier = decodeDossier(note.body);
    // A dead letter of an older failure is not the one that this failure needs.
    if (isOtherBody(dossier, inFlight.delivery)) {
      await this.#ports.ledger.reopen(this.#options.scope, [record.key]); // F9
      return NOT_RUN;
    }
    if (isSentAgain(dossier, inFlight.delivery)) {
      await this.#ports.ledger.reopen(this.#options.scope, [record.key]); // F10
      return NOT_RUN;
    }
    const sent = (dossier.dead_letter?.fence ?? 0) >= fence;
    if (sent && mayBeBareDeadLetter(inFlight.delivery, dossier)) {
      await this.#ports.ledger.reopen(this.#options.scope, [record.key]); // F5
      return NOT_RUN;
    }
    if (sent) return { kind: "done", how: "parked-before" };
    const unsent = { dossier: { ...dossier, dead_letter: null }, at: note.at };
    return this.#sendDeadLetter(record, unsent, fence, inFlight);
  }

  /** Stores the failure and returns the delivery with a backoff (F1). */
  async #retry(
    record: WorkRecord,
    claim: Claim,
    failed: Failed,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome> {
    const { clock, ledger, random, telemetry } = this.#ports;
    const { scope, pipeline } = this.#options;
    const attempt = this.#attemptOf(record, claim, failed, inFlight);
    const note = triedNote(record, clock.now());
    const [result] = await ledger.fail(scope, [
      { ...attempt, permanent: false, ...(note !== null && { note }) },
    ]);
    if (result === undefined || result.kind === "fenced") return LEASE_LOST;
    const { errorClass } = failed.verdict;
    telemetry.count(METRICS.retries.name, 1, { reason: errorClass });
    const backoff = () => retryDelayMs(pipeline.retry, result.attempts, random.fraction());
    const delayMs = failed.verdict.delayMs ?? backoff();
    const message = `attempt ${result.attempts} failed: ${failed.message}`;
    this.#warn(message, record, failed, delayMs, inFlight);
    return { kind: "later", delayMs, why: "retry", blames: "record", errorClass }; // F8
  }

  /** Dead-letters the record: state and dossier in one write, then the dead letter (F2). */
  async #park(
    record: WorkRecord,
    claim: Claim,
    failed: Failed,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome> {
    const { clock, ledger, telemetry } = this.#ports;
    const { scope, queue } = this.#options;
    const dossier = await makeDossier(this.#ports, this.#options, {
      record,
      claim,
      failed,
      inFlight,
    });
    const body = encodeDossier(dossier);
    const previous = await ledger.findNote(scope, "dossier", record.key);
    const at = laterOf(clock.now(), previous?.at); // F7
    const note = { kind: "dossier", name: record.key, at, count: 1, body } as const;
    const attempt = this.#attemptOf(record, claim, failed, inFlight);
    const [result] = await ledger.fail(scope, [{ ...attempt, permanent: true, note }]);
    if (result === undefined || result.kind === "fenced") return LEASE_LOST;
    const { errorClass } = failed.verdict;
    telemetry.count(METRICS.deadLetters.name, 1, { queue: queue.name, class: errorClass });
    telemetry.log("error", `dead-lettered: ${failed.message}`, {
      ...this.#logFields(record, failed, inFlight),
      error_class: errorClass,
      fingerprint: failed.fingerprint,
      attempts: result.attempts,
    });
    const outcome = await this.#sendDeadLetter(record, { dossier, at }, result.fence, inFlight);
    return outcome.kind === "later" ? { ...outcome, errorClass } : outcome;
  }

  /** Sends the dead letter and notes in the dossier that it was sent (F2). */
  async #sendDeadLetter(
    record: WorkRecord,
    { dossier, at: writtenAt }: { readonly dossier: Dossier; readonly at: EpochMs },
    fence: Fence,
    inFlight: InFlightDelivery,
  ): Promise<RecordOutcome> {
    const { clock, ledger, telemetry } = this.#ports;
    const deadLetters = this.#deadLetters;
    if (deadLetters === null) return this.#halt(record, inFlight);
    const { fifo } = deadLetters;
    const { transportKey = null } = record;
    const queueClock = this.#queueClock;
    queueClock.saw(inFlight);
    const span = childSpan(telemetry, record, `send ${deadLetters.name}`, {
      kind: "client",
      attributes: {
        ...messagingAttributes(deadLetters.name, "send", "send"),
        "tidegate.dead_letter.class": dossier.error_class,
      },
    });
    telemetry.count(METRICS.sqsRequests.name, 1, { action: "SendMessageBatch" });
    const sent = await withinSpan(span, () =>
      sendDeadLetter({ clock, deadLetters, queueClock }, (messageBytesMax) =>
        deadLetterOf(inFlight.delivery, dossier, fence, { fifo, messageBytesMax, transportKey }),
      ),
    );
    const body = encodeDossier({ ...dossier, dead_letter: { ...sent, fence } });
    const at = laterOf(clock.now(), writtenAt); // F7
    const note = { kind: "dossier", name: record.key, at, count: 0, body } as const;
    await ledger.addNotes(this.#options.scope, [note]);
    return { kind: "done", how: "dead-lettered", errorClass: dossier.error_class };
  }

  /** Leaves the message in its own queue until its record is redriven or dropped (F4). */
  async #halt({ key }: WorkRecord, { delivery }: InFlightDelivery): Promise<RecordOutcome> {
    const { scope, queue } = this.#options;
    const waits = await storeHalted(this.#ports, scope, { key, queue: queue.name, delivery });
    return waits ? HALTED : NOT_RUN;
  }

  /** Releases the claim, so that the attempt does not count. */
  async #release({ key }: WorkRecord, { fence }: Claim): Promise<void> {
    if (fence !== null) await this.#ports.ledger.release(this.#options.scope, [{ key, fence }]);
  }

  #attemptOf(record: WorkRecord, claim: Claim, failed: Failed, inFlight: InFlightDelivery) {
    const { errorClass } = failed.verdict;
    const { fingerprint, message } = failed;
    return {
      key: record.key,
      fence: claim.fence,
      owner: this.#options.owner,
      receivedAt: inFlight.receivedAt,
      input: claim.input,
      failure: { errorClass, fingerprint, message },
    };
  }

  /** The error with its class and its masked texts. */
  #read(
    record: WorkRecord,
    { delivery: { groupId } }: InFlightDelivery,
    error: unknown,
    quoted: SecretValues = [],
  ): Failed {
    const { mask, masked } = this.#ports;
    const secrets = quoted instanceof Secrets ? quoted : masked.begin(record);
    if (quoted !== secrets) secrets.add(quoted as readonly string[]);
    const shown = (text: string) => mask.text(text, secrets);
    const verdict = classify(error, this.#options.pipeline.retry.classify, shown);
    return {
      verdict,
      secrets,
      groupId: groupId === null ? null : mask.name(groupId, secrets),
      fingerprint: fingerprintOf(error, verdict.errorClass, shown),
      message: messageOf(error, shown),
      stack: stackOf(error, shown),
    };
  }

  #logFields(record: WorkRecord, { secrets }: Failed, inFlight: InFlightDelivery): LogFields {
    const { masked } = this.#ports;
    return logFieldsOf(record, inFlight, this.#options.runId, { masked, secrets });
  }

  #warn(
    message: string,
    record: WorkRecord,
    failed: Failed,
    delayMs: number,
    inFlight: InFlightDelivery,
  ): void {
    this.#ports.telemetry.log("warn", message, {
      ...this.#logFields(record, failed, inFlight),
      error_class: failed.verdict.errorClass,
      delay_ms: delayMs,
    });
  }
}

function laterOf(now: EpochMs, previous: EpochMs | undefined): EpochMs {
  return previous !== undefined && previous > now ? previous : now;
}

/** The failure of a record whose last allowed attempt crashed its consumer. */
function crashOf(claim: Claim): AttemptFailed {
  const tries = claim.attempt - 1;
  const message = `dead-lettered after ${tries} attempts; the last one never finished`;
  const error = new PermanentError(message, { class: "crash" });
  return { kind: "failed", stage: "handle", claim, error, secrets: [] };
}

const HALTED: RecordOutcome = { kind: "later", delayMs: HALT_MS, why: "halted", blames: "record" };
