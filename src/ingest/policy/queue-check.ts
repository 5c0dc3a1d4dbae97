// Queue check: what is wrong with how a queue is set up for a pipeline, told when it starts rather
// than when a message is gone.
//   Q1. Each finding is one sentence that names the setting, what comes of it, and the fix.
//   Q2. Ids are stable for ever. "error" loses messages, their order, or what is known of their
//       failures; "warn" costs time or money, or leaves little room.
//   Q3. Receives are not attempts: a lease that ran out, a duplicate that was put back, a look in a
//       console all count as receives. So SQS's own limit stands well above the pipeline's, and
//       only catches what crashes every process that touches it.

import {
  SQS_RECEIVE_COUNT_SETTING_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_RETENTION_MS_MAX,
} from "../../core/limits.ts";
import { type DurationMs, days, durationMs, hours, minutes, seconds } from "../../core/units.ts";

/** How a queue is set up; the facts of a QueueReceiver fit. */
export interface CheckedQueue {
  readonly arn: string;
  readonly visibilityMs: DurationMs;
  readonly retentionMs: DurationMs;
  readonly waitMs: DurationMs;
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | null;
}

export interface QueueCheckInput {
  readonly queue: CheckedQueue & { readonly name: string; readonly fifo: boolean };
  /** Null if the queue names none, or the one it names cannot be looked at. */
  readonly deadLetters: CheckedQueue | null;
  readonly pipeline: {
    readonly attempts: number;
    readonly visibilityMs: DurationMs;
    readonly onPoison: "halt" | "skip";
  };
}

export interface QueueFinding {
  readonly id: string;
  readonly severity: "error" | "warn";
  readonly message: string;
}

export interface QueueRule {
  readonly id: string;
  readonly severity: QueueFinding["severity"];
  /** The sentence, or null if nothing is wrong. */
  readonly check: (input: QueueCheckInput) => string | null;
}

/** Receives granted per attempt before SQS moves a message by itself (Q3). */
export const RECEIVES_PER_ATTEMPT = 3.5;
export const RETENTION_MS_LEAST: DurationMs = days(1);
/** What must be left of a dead letter's life when it has spent all it could in the queue. */
export const DEAD_LETTER_LEFT_MS_LEAST: DurationMs = days(4);

/** 25 for the default of seven attempts. */
export function receivesLeast(attempts: number): number {
  return Math.min(SQS_RECEIVE_COUNT_SETTING_MAX, Math.ceil(attempts * RECEIVES_PER_ATTEMPT));
}

export function queueFindings(input: QueueCheckInput): readonly QueueFinding[] {
  return QUEUE_RULES.flatMap(({ id, severity, check }) => {
    const message = check(input);
    return message === null ? [] : [{ id, severity, message }];
  });
}

const haltsGroups = ({ queue, pipeline }: QueueCheckInput) =>
  queue.fifo && pipeline.onPoison === "halt";

/** In the order in which they are told; docs/concepts/retries.md is checked against it. */
export const QUEUE_RULES: readonly QueueRule[] = [
  {
    id: "dead-letters-none",
    severity: "error",
    check: ({ queue, pipeline }) =>
      queue.redrive !== null
        ? null
        : `Queue ${queue.name} has no dead-letter queue, so a message that crashes every process ` +
          `that takes it comes back until its retention ends and is then lost; make a ` +
          `${typeName(queue.fifo)} queue and set a RedrivePolicy with maxReceiveCount ` +
          `${receivesLeast(pipeline.attempts)}.`,
  },
  {
    id: "dead-letters-unseen",
    severity: "warn",
    check: ({ queue, deadLetters }) =>
      queue.redrive === null || deadLetters !== null
        ? null
        : `The dead-letter queue ${nameIn(queue.redrive.deadLetterArn)} of ${queue.name} cannot ` +
          `be looked at, so nobody knows whether dead letters arrive; see that it exists and ` +
          `allow sqs:GetQueueAttributes on it.`,
  },
  {
    id: "dead-letters-same",
    severity: "error",
    check: ({ queue }) =>
      queue.redrive?.deadLetterArn !== queue.arn
        ? null
        : `Queue ${queue.name} is its own dead-letter queue, so poison goes round for ever; name ` +
          `another queue in its RedrivePolicy.`,
  },
  {
    id: "dead-letters-type",
    severity: "error",
    check: ({ queue }) => {
      if (queue.redrive === null) return null;
      const { deadLetterArn: arn } = queue.redrive;
      if (arn.endsWith(".fifo") === queue.fifo) return null;
      return (
        `Queue ${queue.name} is ${typeName(queue.fifo)} but its dead-letter queue ${nameIn(arn)} ` +
        `is ${typeName(!queue.fifo)}, which SQS does not serve; name one that is ` +
        `${typeName(queue.fifo)}.`
      );
    },
  },
  {
    id: "dead-letters-loop",
    severity: "error",
    check: ({ queue, deadLetters }) =>
      deadLetters?.redrive?.deadLetterArn !== queue.arn || deadLetters.arn === queue.arn
        ? null
        : `The dead-letter queue of ${queue.name} has a RedrivePolicy back to it, so dead letters ` +
          `that are looked at return by themselves; remove the RedrivePolicy of ` +
          `${nameIn(deadLetters.arn)}.`,
  },
  {
    id: "dead-letters-chained",
    severity: "warn",
    check: ({ queue, deadLetters }) =>
      deadLetters === null ||
      deadLetters.redrive === null ||
      deadLetters.redrive.deadLetterArn === queue.arn
        ? null
        : `The dead-letter queue ${nameIn(deadLetters.arn)} has a dead-letter queue of its own, ` +
          `so dead letters move on to ${nameIn(deadLetters.redrive.deadLetterArn)} after they ` +
          `were looked at ${deadLetters.redrive.maxReceiveCount} times; remove its RedrivePolicy.`,
  },
  {
    id: "dead-letters-retention",
    severity: "error",
    check: ({ queue, deadLetters }) => {
      if (deadLetters === null || deadLetters.arn === queue.arn) return null;
      if (deadLetters.retentionMs > queue.retentionMs) return null;
      const why = queue.fifo
        ? "so a dead letter lives no longer than a live message"
        : "and a standard queue counts from when the message was first sent, so a message may " +
          "be deleted as it arrives there";
      return (
        `The dead-letter queue ${nameIn(deadLetters.arn)} keeps messages for ` +
        `${spanText(deadLetters.retentionMs)} and ${queue.name} for ` +
        `${spanText(queue.retentionMs)}, ${why}; set MessageRetentionPeriod to ` +
        `${spanText(SQS_RETENTION_MS_MAX)} there and ${spanText(SQS_RETENTION_MS_DEFAULT)} here.`
      );
    },
  },
  {
    id: "dead-letters-time-left",
    severity: "warn",
    check: ({ queue, deadLetters }) => {
      if (queue.fifo || deadLetters === null) return null;
      const left = deadLetters.retentionMs - queue.retentionMs;
      if (left <= 0 || left >= DEAD_LETTER_LEFT_MS_LEAST) return null;
      return (
        `A message that waited in ${queue.name} to the last has ${spanText(left)} left as a dead ` +
        `letter, as a standard queue counts from when it was first sent; set ` +
        `MessageRetentionPeriod to ${spanText(SQS_RETENTION_MS_MAX)} on ` +
        `${nameIn(deadLetters.arn)} and ${spanText(SQS_RETENTION_MS_DEFAULT)} on ${queue.name}.`
      );
    },
  },
  {
    id: "receives-break-order",
    severity: "error",
    check: (input) => {
      const receives = input.queue.redrive?.maxReceiveCount ?? SQS_RECEIVE_COUNT_SETTING_MAX;
      if (!haltsGroups(input) || receives >= SQS_RECEIVE_COUNT_SETTING_MAX) return null;
      return (
        `A group of ${input.queue.name} waits behind a record that was given up on, which is ` +
        `received again and again meanwhile, and after ${receives} receives SQS would move it ` +
        `away and let the rest overtake it; set maxReceiveCount to ` +
        `${SQS_RECEIVE_COUNT_SETTING_MAX}, or onPoison to "skip" if order does not matter.`
      );
    },
  },
  {
    id: "receives-below-attempts",
    severity: "error",
    check: (input) => {
      const { queue, pipeline } = input;
      if (queue.redrive === null || haltsGroups(input)) return null;
      const { maxReceiveCount } = queue.redrive;
      if (maxReceiveCount > pipeline.attempts) return null;
      return (
        `SQS moves messages of ${queue.name} away after ${maxReceiveCount} receives, before or ` +
        `as the pipeline's ${pipeline.attempts} attempts are used up, and they arrive without a ` +
        `word on why they failed; set maxReceiveCount to ${receivesLeast(pipeline.attempts)}.`
      );
    },
  },
  {
    id: "receives-too-few",
    severity: "warn",
    check: (input) => {
      const { queue, pipeline } = input;
      const least = receivesLeast(pipeline.attempts);
      if (queue.redrive === null || haltsGroups(input)) return null;
      const { maxReceiveCount } = queue.redrive;
      if (maxReceiveCount <= pipeline.attempts || maxReceiveCount >= least) return null;
      return (
        `SQS moves messages of ${queue.name} away after ${maxReceiveCount} receives, which leaves ` +
        `${pipeline.attempts} attempts little room, as duplicates and leases that ran out count ` +
        `too; set maxReceiveCount to ${least}.`
      );
    },
  },
  {
    id: "visibility-short",
    severity: "warn",
    check: ({ queue, pipeline }) => {
      if (queue.visibilityMs * 2 >= pipeline.visibilityMs) return null;
      const what = queue.visibilityMs === 0 ? "not at all" : `for ${spanText(queue.visibilityMs)}`;
      return (
        `Queue ${queue.name} hides received messages ${what} by default and this pipeline for ` +
        `${spanText(pipeline.visibilityMs)}, so whoever else receives from it, a console say, ` +
        `makes duplicates; set VisibilityTimeout to ${spanText(pipeline.visibilityMs)}.`
      );
    },
  },
  {
    id: "short-polling",
    severity: "warn",
    check: ({ queue }) =>
      queue.waitMs >= seconds(1)
        ? null
        : `Receives from ${queue.name} do not wait by default, so whoever does not ask for it ` +
          `pays for empty answers and may miss messages that are there; set ` +
          `ReceiveMessageWaitTimeSeconds to ${SQS_RECEIVE_WAIT_MS_MAX / 1_000}.`,
  },
  {
    id: "retention-short",
    severity: "warn",
    check: ({ queue }) =>
      queue.retentionMs >= RETENTION_MS_LEAST
        ? null
        : `Queue ${queue.name} deletes messages after ${spanText(queue.retentionMs)}, so an ` +
          `outage of a night loses them; set MessageRetentionPeriod to ` +
          `${spanText(SQS_RETENTION_MS_DEFAULT)}.`,
  },
];

function typeName(fifo: boolean): string {
  return fifo ? "FIFO" : "standard";
}

function nameIn(arn: string): string {
  return arn.split(":").at(-1) || arn;
}

/** A span as people say it, in the largest unit that it is a whole number of. */
function spanText(span: number): string {
  for (const [unit, ms] of [
    ["day", days(1)],
    ["hour", hours(1)],
    ["minute", minutes(1)],
    ["second", seconds(1)],
  ] as const) {
    if (span < ms || span % ms !== 0) continue;
    const count = durationMs(span) / ms;
    return `${count} ${unit}${count === 1 ? "" : "s"}`;
  }
  return `${span} ms`;
}
