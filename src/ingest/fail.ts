// Fail: what becomes of a record whose attempt ended badly.
//   F1. A failure is written down before the queue hears of it, and attempts are counted there: the
//       queue counts receives, which is something else.
//   F2. A record is given up on when trying again cannot help, or was tried often enough. Giving up
//       writes the dossier in the same step, then the dead letter, and only then acknowledges.
//   F3. A sink or ledger that is down is not the record's fault: the claim is given back uncounted,
//       and the delivery comes back later.
//   F4. A record that is given up on in a FIFO queue keeps its group waiting behind it, unless the
//       pipeline says to skip: what comes next may depend on it.
//   F5. A parked record without a dossier was dropped by an operator, as both are written in one
//       step: its message is acknowledged, and nobody waits for it any longer.

import type { Mask } from "../core/mask.ts";
import type { Fence, LedgerScope } from "../core/record-state.ts";
import { type DurationMs, durationMs, minutes, msBetween } from "../core/units.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger } from "../ports/ledger.ts";
import type { QueueSender } from "../ports/queue.ts";
import type { Random } from "../ports/random.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Claim } from "./claim.ts";
import { deadLetterOf, sendDeadLetter } from "./dead-letter.ts";
import type { WorkRecord } from "./decode.ts";
import type { Pipeline } from "./define-pipeline.ts";
import { type Dossier, decodeDossier, encodeDossier } from "./dossier.ts";
import { PermanentError } from "./handler-errors.ts";
import { type Hold, LeaseLost } from "./hold.ts";
import { CONSUMER_METRICS as METRICS } from "./metrics.ts";
import { NOT_RUN, type Outcome } from "./outcome.ts";
import { classify, type Verdict } from "./policy/error-class.ts";
import { fingerprintOf, messageOf, stackOf } from "./policy/error-text.ts";
import { retryDelayMs } from "./policy/retry.ts";
import { logFieldsOf } from "./record-log-fields.ts";

/** How long a record that was given up on waits in its own queue before it is looked at again. */
export const HALT_MS: DurationMs = minutes(15);

export interface FailStage {
  /** The attempt failed with `error`. */
  fail(
    record: WorkRecord,
    claim: Claim,
    failure: { readonly error: unknown; readonly stage: "handle" | "commit" },
    hold: Hold,
  ): Promise<Outcome>;
  /** It was tried too often, and the last tries did not even live to tell why. */
  exhausted(record: WorkRecord, claim: Claim, hold: Hold): Promise<Outcome>;
  /** The record was given up on before: its dead letter is made sure of (F2). */
  parked(record: WorkRecord, fence: Fence, hold: Hold): Promise<Outcome>;
  /** We were told to stop before it was done: as if it had never begun. */
  giveBack(record: WorkRecord, claim: Claim, hold: Hold): Promise<Outcome>;
  /** Something we depend on is down (F3). */
  unavailable(record: WorkRecord, error: unknown, hold: Hold): Outcome;
}

export interface FailPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  /** Null leaves records that were given up on in their own queue. */
  readonly deadLetters: QueueSender | null;
  readonly telemetry: Telemetry;
  readonly mask: Mask;
}

export interface FailOptions {
  readonly pipeline: Pipeline;
  readonly scope: LedgerScope;
  readonly owner: string;
  readonly runId: string;
  readonly queue: { readonly name: string; readonly fifo: boolean };
}

export function createFailStage(ports: FailPorts, options: FailOptions): FailStage {
  const { clock, random, ledger, telemetry, mask } = ports;
  const { pipeline, scope, owner, runId, queue } = options;
  const halts = queue.fifo && pipeline.onPoison === "halt"; // F4
  const deadLetters = halts ? null : ports.deadLetters;

  /** Gives the claim back, so that the attempt does not count. */
  async function release({ key }: WorkRecord, { fence }: Claim): Promise<void> {
    if (fence !== null) await ledger.release(scope, [{ key, fence }]);
  }

  /** Puts the dead letter where it belongs and writes down that it is there (F2). */
  async function bury(record: WorkRecord, dossier: Dossier, fence: Fence, hold: Hold) {
    if (deadLetters === null) return later(HALT_MS, "halted");
    const letter = deadLetterOf(hold.delivery, dossier, fence, deadLetters.fifo);
    const sent = await sendDeadLetter({ clock, deadLetters }, letter);
    const body = encodeDossier({ ...dossier, dead_letter: { ...sent, fence } });
    const note = { kind: "dossier", name: record.key, at: clock.now(), count: 0, body } as const;
    await ledger.addNotes(scope, [note]);
    return { kind: "done", how: "dead-lettered" } as const;
  }

  async function park(record: WorkRecord, claim: Claim, failed: Failed, hold: Hold) {
    const dossier = await dossierOf(record, claim, failed, hold);
    const at = clock.now();
    const note = { kind: "dossier", name: record.key, at, count: 1, body: encodeDossier(dossier) };
    const [result] = await ledger.fail(scope, [
      {
        ...attemptOf(record, claim, failed, hold),
        permanent: true,
        note: { ...note, kind: "dossier" },
      },
    ]);
    if (result === undefined || result.kind === "fenced") return lost();
    telemetry.count(METRICS.deadLetters.name, 1, {
      queue: queue.name,
      class: failed.verdict.errorClass,
    });
    telemetry.log("error", `given up on: ${failed.message}`, {
      ...logFieldsOf(record, hold, runId),
      error_class: failed.verdict.errorClass,
      fingerprint: failed.fingerprint,
      attempts: result.attempts,
    });
    return bury(record, dossier, result.fence, hold);
  }

  function attemptOf(record: WorkRecord, claim: Claim, failed: Failed, hold: Hold) {
    const { errorClass } = failed.verdict;
    const { fingerprint, message } = failed;
    return {
      key: record.key,
      fence: claim.fence,
      owner,
      receivedAt: hold.receivedAt,
      failure: { errorClass, fingerprint, message },
    };
  }

  async function dossierOf(record: WorkRecord, claim: Claim, failed: Failed, hold: Hold) {
    const { delivery } = hold;
    const { object } = record;
    const secrets = mask.secretsOf(record.original);
    const at = clock.now();
    const known = await ledger.show(scope, record.key);
    const first = known?.entries.find(({ status }) => status === "failed")?.at ?? at;
    const dossier: Dossier = {
      pipeline: scope.pipeline,
      generation: scope.generation,
      record_key: record.key,
      idempotency_key: record.identity,
      queue: queue.name,
      message_id: delivery.messageId,
      group_id: delivery.groupId === null ? null : mask.text(delivery.groupId, secrets),
      object:
        object === null ? null : { bucket: object.bucket, key: mask.text(object.key, secrets) },
      error_class: failed.verdict.errorClass,
      fingerprint: failed.fingerprint,
      message: failed.message,
      stack: failed.stack,
      attempts: claim.attempt,
      receive_count: delivery.receiveCount,
      event_time: record.eventTime,
      first_failed_at: first,
      last_failed_at: at,
      took_ms: msBetween(claim.startedAt, at),
      run_id: runId,
      trace_id: hold.trace.traceId,
      payload: mask.value(record.original),
      dead_letter: null,
    };
    return dossier;
  }

  /** The error in words that may be shown to anybody. */
  function read(record: WorkRecord, error: unknown): Failed {
    const verdict = classify(error, pipeline.errors);
    const secrets = mask.secretsOf(record.original);
    const stack = stackOf(error);
    return {
      verdict,
      fingerprint: fingerprintOf(error, verdict.errorClass),
      message: mask.text(messageOf(error), secrets),
      stack: stack === null ? null : mask.text(stack, secrets),
    };
  }

  function unavailable(record: WorkRecord, error: unknown, hold: Hold): Outcome {
    const failed = read(record, error);
    const { receiveCount } = hold.delivery;
    const delayMs = retryDelayMs(pipeline.retry, receiveCount, random.fraction());
    telemetry.log("warn", `comes back later: ${failed.message}`, {
      ...logFieldsOf(record, hold, runId),
      error_class: failed.verdict.errorClass,
      delay_ms: delayMs,
    });
    return { kind: "later", delayMs, why: "unavailable", blames: failed.verdict.blames };
  }

  const stage: FailStage = {
    unavailable,
    exhausted(record, claim, hold) {
      const tries = claim.attempt - 1;
      const message = `${tries} attempts were begun, and the last of them never came to an end`;
      const error = new PermanentError(message, { class: "crash" });
      return stage.fail(record, claim, { error, stage: "handle" }, hold);
    },
    async fail(record, claim, { error, stage: at }, hold) {
      if (error instanceof LeaseLost) return lost();
      const failed = read(record, error);
      const { verdict } = failed;
      const { blames, errorClass } = verdict;
      try {
        if (at === "commit" && verdict.retry !== "never" && blames !== "record") {
          await release(record, claim); // F3
          return unavailable(record, error, hold);
        }
        const { attempts } = pipeline.retry;
        if (verdict.retry === "never" || claim.attempt >= attempts) {
          return await park(record, claim, failed, hold);
        }
        const attempt = attemptOf(record, claim, failed, hold);
        const [result] = await ledger.fail(scope, [{ ...attempt, permanent: false }]); // F1
        if (result === undefined || result.kind === "fenced") return lost();
        telemetry.count(METRICS.retries.name, 1, { reason: errorClass });
        const delayMs =
          verdict.delayMs ?? retryDelayMs(pipeline.retry, result.attempts, random.fraction());
        telemetry.log("warn", `attempt ${result.attempts} failed: ${failed.message}`, {
          ...logFieldsOf(record, hold, runId),
          error_class: errorClass,
          delay_ms: delayMs,
        });
        return { ...later(delayMs, "retry"), blames };
      } catch (trouble) {
        return unavailable(record, trouble, hold);
      }
    },
    async giveBack(record, claim, hold) {
      try {
        await release(record, claim);
        return NOT_RUN;
      } catch (trouble) {
        return unavailable(record, trouble, hold);
      }
    },
    async parked(record, fence, hold) {
      try {
        const note = await ledger.findNote(scope, "dossier", record.key);
        if (note === undefined) return { kind: "done", how: "parked-before" }; // F5
        const dossier = decodeDossier(note.body);
        // A letter of an older failure is not the one that this failure asks for.
        const sent = (dossier.dead_letter?.fence ?? 0) >= fence;
        if (sent) return { kind: "done", how: "parked-before" };
        return await bury(record, { ...dossier, dead_letter: null }, fence, hold);
      } catch (trouble) {
        return unavailable(record, trouble, hold);
      }
    },
  };
  return stage;
}

interface Failed {
  readonly verdict: Verdict;
  readonly fingerprint: string;
  readonly message: string;
  readonly stack: string | null;
}

function lost(): Outcome {
  return { kind: "lost" };
}

function later(delayMs: DurationMs, why: "retry" | "halted") {
  return {
    kind: "later",
    delayMs: durationMs(Math.max(0, delayMs)),
    why,
    blames: "record",
  } as const;
}
