// Dead-letter rules: settings of dead-letter queues that lose dead letters or their order.
//   Q3. Receives are not attempts: an expired lease, a returned duplicate and a look in the AWS
//       console all count as receives. So the limit of SQS has to be well above the pipeline's, and
//       only catch messages that crash every consumer.

import {
  SQS_RECEIVE_COUNT_SETTING_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_RETENTION_MS_MAX,
} from "../../core/limits.ts";
import { type DurationMs, days } from "../../core/units.ts";
import type { Rule } from "../rule.ts";
import type { Location, Setup } from "../setup.ts";
import { type ConsumedQueue, consumedQueues } from "./consumed-queues.ts";
import { nameIn, spanText, typeName } from "./words.ts";

/** Attempts of a pipeline that says nothing else. */
export const ATTEMPTS_DEFAULT = 7;
/** Receives allowed per attempt before SQS itself moves a message (Q3). */
const RECEIVES_PER_ATTEMPT = 3.5;
/** Time that a dead letter has to last after the longest stay in the main queue. */
const DEAD_LETTER_MS_MIN: DurationMs = days(4);

/** The smallest sound `maxReceiveCount`; 25 for the default of 7 attempts (Q3). */
export function receivesLeast(attempts: number): number {
  return Math.min(SQS_RECEIVE_COUNT_SETTING_MAX, Math.ceil(attempts * RECEIVES_PER_ATTEMPT));
}

/** A check of one queue: the message of the finding, or null if the setting is fine. */
export function forQueues(check: (consumed: ConsumedQueue) => string | null): Rule["check"] {
  return (setup: Setup) =>
    consumedQueues(setup).flatMap((consumed): { location: Location; message: string }[] => {
      const message = check(consumed);
      return message === null ? [] : [{ location: consumed.queue.location, message }];
    });
}

/** In a FIFO queue, retention starts again when a message becomes a dead letter. */
function fifoTimeLeft(name: string, deadName: string, retentionMs: DurationMs): string | null {
  if (retentionMs >= DEAD_LETTER_MS_MIN) return null;
  return (
    `a message of ${name} has only ${spanText(retentionMs)} as a dead letter; set ` +
    `MessageRetentionPeriod to ${spanText(SQS_RETENTION_MS_MAX)} on ${deadName}`
  );
}

const haltsGroups = ({ queue, pipeline }: ConsumedQueue) =>
  queue.fifo && pipeline?.onPoison === "halt";

/** In the order of the findings. */
export const DEAD_LETTER_RULES: readonly Rule[] = [
  {
    id: "TGD001",
    name: "dead-letters-none",
    title: "Queue without a dead-letter queue",
    severity: "error",
    risk: "loss",
    consequence:
      "A message that crashes every consumer is redelivered until its retention ends. Then SQS deletes it.",
    fix: "Create a queue of the same type and name it in a RedrivePolicy with maxReceiveCount 25.",
    check: forQueues(({ queue, pipeline }) =>
      queue.redrive !== null
        ? null
        : `queue ${queue.name} has no dead-letter queue, so a message that crashes every consumer ` +
          `is redelivered until its retention ends, and is then lost; create a ` +
          `${typeName(queue.fifo)} queue and set a RedrivePolicy with maxReceiveCount ` +
          `${receivesLeast(pipeline?.attempts ?? ATTEMPTS_DEFAULT)}`,
    ),
  },
  {
    id: "TGD002",
    name: "dead-letters-unseen",
    title: "Dead-letter queue that cannot be read",
    severity: "warning",
    risk: "blindness",
    consequence: "Its type, retention and policies are not checked, and it may not exist.",
    fix: "Check that the queue exists, and allow sqs:GetQueueAttributes on it or add its Terraform.",
    check: forQueues(({ queue, deadLetters }) => {
      if (queue.redrive === null || queue.redrive === undefined || deadLetters !== null)
        return null;
      const name = nameIn(queue.redrive.deadLetterArn);
      return queue.location.file === undefined
        ? `dead-letter queue ${name} of ${queue.name} cannot be read, so its settings are not ` +
            `checked; check that it exists and allow sqs:GetQueueAttributes on it`
        : `dead-letter queue ${name} of ${queue.name} is not in the folder, so its settings are ` +
            `not checked; check the folder that defines it too`;
    }),
  },
  {
    id: "TGD003",
    name: "dead-letters-same",
    title: "Queue that is its own dead-letter queue",
    severity: "error",
    risk: "delay",
    consequence: "Poison messages circulate in the queue, and no alarm sees them.",
    fix: "Name another queue in the RedrivePolicy.",
    check: forQueues(({ queue }) =>
      queue.redrive?.deadLetterArn !== queue.arn
        ? null
        : `queue ${queue.name} is its own dead-letter queue, so poison messages circulate in it; ` +
          `name another queue in its RedrivePolicy`,
    ),
  },
  {
    id: "TGD004",
    name: "dead-letters-type",
    title: "Dead-letter queue of another type",
    severity: "error",
    risk: "loss",
    consequence: "SQS does not support it: the policy is refused, or messages are never moved.",
    fix: "Use a FIFO dead-letter queue for a FIFO queue, and a standard one for a standard queue.",
    check: forQueues(({ queue }) => {
      const arn = queue.redrive?.deadLetterArn;
      if (arn === undefined || arn.endsWith(".fifo") === queue.fifo) return null;
      return (
        `queue ${queue.name} is ${typeName(queue.fifo)}, but its dead-letter queue ` +
        `${nameIn(arn)} is ${typeName(!queue.fifo)}, which SQS does not support; name a ` +
        `${typeName(queue.fifo)} queue in its RedrivePolicy`
      );
    }),
  },
  {
    id: "TGD005",
    name: "dead-letters-loop",
    title: "Dead-letter queue that moves messages back",
    severity: "error",
    risk: "delay",
    consequence: "Dead letters that somebody looks at return to the queue and fail again.",
    fix: "Remove the RedrivePolicy of the dead-letter queue.",
    check: forQueues(({ queue, deadLetters }) =>
      deadLetters?.redrive?.deadLetterArn !== queue.arn || deadLetters.arn === queue.arn
        ? null
        : `dead-letter queue ${nameIn(deadLetters.arn)} has a RedrivePolicy back to ` +
          `${queue.name}, so dead letters that are received return there; remove the ` +
          `RedrivePolicy of ${nameIn(deadLetters.arn)}`,
    ),
  },
  {
    id: "TGD006",
    name: "dead-letters-chained",
    title: "Dead-letter queue with a dead-letter queue",
    severity: "warning",
    risk: "blindness",
    consequence: "Dead letters that somebody looks at move to a third queue without an alarm.",
    fix: "Remove the RedrivePolicy of the dead-letter queue.",
    check: forQueues(({ queue, deadLetters }) => {
      const target = deadLetters?.redrive ?? null;
      if (deadLetters === null || target === null || target.deadLetterArn === queue.arn) {
        return null;
      }
      return (
        `dead-letter queue ${nameIn(deadLetters.arn)} has a dead-letter queue itself, so dead ` +
        `letters move to ${nameIn(target.deadLetterArn)} after ` +
        `${target.maxReceiveCount ?? "some"} receives; remove its RedrivePolicy`
      );
    }),
  },
  {
    id: "TGD007",
    name: "dead-letters-retention",
    title: "Dead-letter queue that keeps messages no longer than its source",
    severity: "error",
    risk: "loss",
    consequence:
      "A standard queue counts retention from the first send: a dead letter may be deleted on arrival.",
    fix: "Keep messages for 4 days in the queue and for 14 days in the dead-letter queue.",
    check: forQueues(({ queue, deadLetters }) => {
      if (deadLetters === null || deadLetters.arn === queue.arn || queue.fifo) return null;
      const { retentionMs } = deadLetters;
      if (retentionMs === undefined || queue.retentionMs === undefined) return null;
      if (retentionMs > queue.retentionMs) return null;
      return (
        `dead-letter queue ${nameIn(deadLetters.arn)} keeps messages for ` +
        `${spanText(retentionMs)} and ${queue.name} for ` +
        `${spanText(queue.retentionMs)}, and a standard queue counts from the first send, so a dead ` +
        `letter may expire on arrival; set MessageRetentionPeriod to ` +
        `${spanText(SQS_RETENTION_MS_MAX)} on ${nameIn(deadLetters.arn)} and ` +
        `${spanText(SQS_RETENTION_MS_DEFAULT)} on ${queue.name}`
      );
    }),
  },
  {
    id: "TGD008",
    name: "dead-letters-time-left",
    title: "Dead letters with little time left",
    severity: "warning",
    risk: "loss",
    consequence: "A message that waited long is deleted before somebody looks at it.",
    fix: "Keep messages for 4 days in the queue and for 14 days in the dead-letter queue.",
    check: forQueues(({ queue, deadLetters }) => {
      if (deadLetters === null || deadLetters.arn === queue.arn) return null;
      if (deadLetters.retentionMs === undefined || queue.retentionMs === undefined) return null;
      if (queue.fifo) return fifoTimeLeft(queue.name, deadLetters.name, deadLetters.retentionMs);
      const remainingMs = deadLetters.retentionMs - queue.retentionMs;
      if (remainingMs <= 0 || remainingMs >= DEAD_LETTER_MS_MIN) return null;
      return (
        `a message of ${queue.name} may have only ${spanText(remainingMs)} as a dead letter, ` +
        `because a standard queue counts retention from the first send; set ` +
        `MessageRetentionPeriod to ${spanText(SQS_RETENTION_MS_MAX)} on ` +
        `${nameIn(deadLetters.arn)} and ${spanText(SQS_RETENTION_MS_DEFAULT)} on ${queue.name}`
      );
    }),
  },
  {
    id: "TGD009",
    name: "receives-break-order",
    title: "Receive limit that lets messages overtake",
    severity: "error",
    risk: "order",
    consequence: "SQS moves the failed message of a halted group, and later ones overtake it.",
    fix: 'Set maxReceiveCount to 1000, or onPoison to "skip" if order does not matter.',
    check: forQueues((consumed) => {
      const { queue } = consumed;
      const receives = queue.redrive?.maxReceiveCount ?? SQS_RECEIVE_COUNT_SETTING_MAX;
      if (!haltsGroups(consumed) || receives >= SQS_RECEIVE_COUNT_SETTING_MAX) return null;
      return (
        `queue ${queue.name} moves a message after ${receives} receives, so the rest of a ` +
        `halted group would overtake its failed record, which is redelivered until it is fixed; ` +
        `set maxReceiveCount to ${SQS_RECEIVE_COUNT_SETTING_MAX}, or onPoison to "skip" if order ` +
        `does not matter`
      );
    }),
  },
  {
    id: "TGD010",
    name: "receives-below-attempts",
    title: "Receive limit below the attempts of the pipeline",
    severity: "error",
    risk: "blindness",
    consequence: "SQS moves a message before the pipeline gives up, without a failure report.",
    fix: "Set maxReceiveCount to at least 3.5 times the attempts: 25 for 7.",
    check: forQueues((consumed) => {
      const { queue, pipeline } = consumed;
      const maxReceiveCount = queue.redrive?.maxReceiveCount ?? null;
      if (maxReceiveCount === null || pipeline === null || haltsGroups(consumed)) return null;
      if (maxReceiveCount > pipeline.attempts) return null;
      return (
        `queue ${queue.name} moves a message after ${maxReceiveCount} receives, which is too few ` +
        `for the pipeline's ${pipeline.attempts} attempts, so messages are moved without a ` +
        `failure report; set maxReceiveCount to ${receivesLeast(pipeline.attempts)}`
      );
    }),
  },
  {
    id: "TGD011",
    name: "receives-too-few",
    title: "Receive limit close to the attempts of the pipeline",
    severity: "warning",
    risk: "blindness",
    consequence: "Duplicates and expired leases use up the receives of a message that is fine.",
    fix: "Set maxReceiveCount to at least 3.5 times the attempts: 25 for 7.",
    check: forQueues((consumed) => {
      const { queue, pipeline } = consumed;
      const maxReceiveCount = queue.redrive?.maxReceiveCount ?? null;
      if (maxReceiveCount === null || pipeline === null || haltsGroups(consumed)) return null;
      const least = receivesLeast(pipeline.attempts);
      if (maxReceiveCount <= pipeline.attempts || maxReceiveCount >= least) return null;
      return (
        `queue ${queue.name} moves a message after ${maxReceiveCount} receives, which is too few ` +
        `for ${pipeline.attempts} attempts because duplicates and expired leases count as ` +
        `receives; set maxReceiveCount to ${least}`
      );
    }),
  },
];
