// Queue check: reports queue settings that do not fit a pipeline when the pipeline starts, before a
// message is lost.
//   Q1. Each finding is one clause that names the setting, its consequence and the fix.
//   Q2. Ids never change. An "error" can lose messages, their order or their failure reports. A
//       "warn" costs time or money, or leaves little margin.
//   Q3. Receives are not attempts: an expired lease, a returned duplicate and a look in the AWS
//       console all count as receives. So the limit of SQS has to be well above the pipeline's, and
//       only catch messages that crash every consumer.

import {
  SQS_RECEIVE_COUNT_SETTING_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_RETENTION_MS_MAX,
} from "../../core/limits.ts";
import { type DurationMs, days, durationMs, hours, minutes, seconds } from "../../core/units.ts";

/** Settings of a queue; the facts of a QueueReceiver have this shape. */
export interface CheckedQueue {
  readonly arn: string;
  readonly visibilityMs: DurationMs;
  readonly retentionMs: DurationMs;
  readonly waitMs: DurationMs;
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | null;
}

export interface QueueCheckInput {
  readonly queue: CheckedQueue & { readonly name: string; readonly fifo: boolean };
  /** Null if the queue has no dead-letter queue, or its attributes cannot be read. */
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
  /** The message of the finding, or null if the setting is fine. */
  readonly check: (input: QueueCheckInput) => string | null;
}

/** Receives allowed per attempt before SQS itself moves a message (Q3). */
const RECEIVES_PER_ATTEMPT = 3.5;
const QUEUE_RETENTION_MS_MIN: DurationMs = days(1);
/** Time that a dead letter has to last after the longest stay in the main queue. */
const DEAD_LETTER_MS_MIN: DurationMs = days(4);

/** The smallest sound `maxReceiveCount`; 25 for the default of 7 attempts (Q3). */
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

/** In the order of the findings. A test compares docs/concepts/retries.md with it. */
export const QUEUE_RULES: readonly QueueRule[] = [
  {
    id: "dead-letters-none",
    severity: "error",
    check: ({ queue, pipeline }) =>
      queue.redrive !== null
        ? null
        : `queue ${queue.name} has no dead-letter queue, so a message that crashes every consumer ` +
          `is redelivered until its retention ends, and is then lost; create a ` +
          `${typeName(queue.fifo)} queue and set a RedrivePolicy with maxReceiveCount ` +
          `${receivesLeast(pipeline.attempts)}`,
  },
  {
    id: "dead-letters-unseen",
    severity: "warn",
    check: ({ queue, deadLetters }) =>
      queue.redrive === null || deadLetters !== null
        ? null
        : `dead-letter queue ${nameIn(queue.redrive.deadLetterArn)} of ${queue.name} cannot be ` +
          `read, so its settings are not checked; check that it exists and allow ` +
          `sqs:GetQueueAttributes on it`,
  },
  {
    id: "dead-letters-same",
    severity: "error",
    check: ({ queue }) =>
      queue.redrive?.deadLetterArn !== queue.arn
        ? null
        : `queue ${queue.name} is its own dead-letter queue, so poison messages circulate in it; ` +
          `name another queue in its RedrivePolicy`,
  },
  {
    id: "dead-letters-type",
    severity: "error",
    check: ({ queue }) => {
      if (queue.redrive === null) return null;
      const { deadLetterArn: arn } = queue.redrive;
      if (arn.endsWith(".fifo") === queue.fifo) return null;
      return (
        `queue ${queue.name} is ${typeName(queue.fifo)}, but its dead-letter queue ` +
        `${nameIn(arn)} is ${typeName(!queue.fifo)}, which SQS does not support; name a ` +
        `${typeName(queue.fifo)} queue in its RedrivePolicy`
      );
    },
  },
  {
    id: "dead-letters-loop",
    severity: "error",
    check: ({ queue, deadLetters }) =>
      deadLetters?.redrive?.deadLetterArn !== queue.arn || deadLetters.arn === queue.arn
        ? null
        : `dead-letter queue ${nameIn(deadLetters.arn)} has a RedrivePolicy back to ` +
          `${queue.name}, so dead letters that are received return there; remove the ` +
          `RedrivePolicy of ${nameIn(deadLetters.arn)}`,
  },
  {
    id: "dead-letters-chained",
    severity: "warn",
    check: ({ queue, deadLetters }) =>
      deadLetters === null ||
      deadLetters.redrive === null ||
      deadLetters.redrive.deadLetterArn === queue.arn
        ? null
        : `dead-letter queue ${nameIn(deadLetters.arn)} has a dead-letter queue itself, so dead ` +
          `letters move to ${nameIn(deadLetters.redrive.deadLetterArn)} after ` +
          `${deadLetters.redrive.maxReceiveCount} receives; remove its RedrivePolicy`,
  },
  {
    id: "dead-letters-retention",
    severity: "error",
    check: ({ queue, deadLetters }) => {
      if (deadLetters === null || deadLetters.arn === queue.arn) return null;
      if (deadLetters.retentionMs > queue.retentionMs) return null;
      const why = queue.fifo
        ? "so a dead letter expires no later than a live message"
        : "and a standard queue counts from the first send, so a dead letter may expire on arrival";
      return (
        `dead-letter queue ${nameIn(deadLetters.arn)} keeps messages for ` +
        `${spanText(deadLetters.retentionMs)} and ${queue.name} for ` +
        `${spanText(queue.retentionMs)}, ${why}; set MessageRetentionPeriod to ` +
        `${spanText(SQS_RETENTION_MS_MAX)} on ${nameIn(deadLetters.arn)} and ` +
        `${spanText(SQS_RETENTION_MS_DEFAULT)} on ${queue.name}`
      );
    },
  },
  {
    id: "dead-letters-time-left",
    severity: "warn",
    check: ({ queue, deadLetters }) => {
      if (queue.fifo || deadLetters === null) return null;
      const remainingMs = deadLetters.retentionMs - queue.retentionMs;
      if (remainingMs <= 0 || remainingMs >= DEAD_LETTER_MS_MIN) return null;
      return (
        `a message of ${queue.name} may have only ${spanText(remainingMs)} as a dead letter, ` +
        `because a standard queue counts retention from the first send; set ` +
        `MessageRetentionPeriod to ${spanText(SQS_RETENTION_MS_MAX)} on ` +
        `${nameIn(deadLetters.arn)} and ${spanText(SQS_RETENTION_MS_DEFAULT)} on ${queue.name}`
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
        `queue ${input.queue.name} moves a message after ${receives} receives, so the rest of a ` +
        `halted group would overtake its failed record, which is redelivered until it is fixed; ` +
        `set maxReceiveCount to ${SQS_RECEIVE_COUNT_SETTING_MAX}, or onPoison to "skip" if order ` +
        `does not matter`
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
        `queue ${queue.name} moves a message after ${maxReceiveCount} receives, which is too few ` +
        `for the pipeline's ${pipeline.attempts} attempts, so messages are moved without a ` +
        `failure report; set maxReceiveCount to ${receivesLeast(pipeline.attempts)}`
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
        `queue ${queue.name} moves a message after ${maxReceiveCount} receives, which is too few ` +
        `for ${pipeline.attempts} attempts because duplicates and expired leases count as ` +
        `receives; set maxReceiveCount to ${least}`
      );
    },
  },
  {
    id: "visibility-short",
    severity: "warn",
    check: ({ queue, pipeline }) => {
      if (queue.visibilityMs * 2 >= pipeline.visibilityMs) return null;
      return (
        `queue ${queue.name} has a visibility timeout of ${spanText(queue.visibilityMs)} and this ` +
        `pipeline one of ${spanText(pipeline.visibilityMs)}, so other receivers, such as the AWS ` +
        `console, cause duplicates; set VisibilityTimeout to ${spanText(pipeline.visibilityMs)}`
      );
    },
  },
  {
    id: "short-polling",
    severity: "warn",
    check: ({ queue }) =>
      queue.waitMs >= seconds(1)
        ? null
        : `queue ${queue.name} uses short polling by default, so other receivers pay for empty ` +
          `responses and may miss messages; set ReceiveMessageWaitTimeSeconds to ` +
          `${SQS_RECEIVE_WAIT_MS_MAX / 1_000}`,
  },
  {
    id: "retention-short",
    severity: "warn",
    check: ({ queue }) =>
      queue.retentionMs >= QUEUE_RETENTION_MS_MIN
        ? null
        : `queue ${queue.name} deletes messages after ${spanText(queue.retentionMs)}, so an ` +
          `outage overnight loses them; set MessageRetentionPeriod to ` +
          `${spanText(SQS_RETENTION_MS_DEFAULT)}`,
  },
];

function typeName(fifo: boolean): string {
  return fifo ? "FIFO" : "standard";
}

function nameIn(arn: string): string {
  return arn.split(":").at(-1) || arn;
}

/** The span in the largest unit that divides it. */
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
