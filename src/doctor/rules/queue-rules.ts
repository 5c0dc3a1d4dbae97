// Queue rules: settings of the queue itself.

import {
  SQS_QUEUE_NAME_CHARACTERS_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_RETENTION_MS_DEFAULT,
} from "../../core/limits.ts";
import { type DurationMs, days, minutes, seconds } from "../../core/units.ts";
import type { Rule } from "../rule.ts";
import type { ObservedQueue } from "../setup.ts";
import { deadLetterQueues } from "./consumed-queues.ts";
import { ATTEMPTS_DEFAULT, forQueues, receivesLeast } from "./dead-letter-rules.ts";
import { spanText } from "./words.ts";

const QUEUE_RETENTION_MS_MIN: DurationMs = days(1);
/** A longer visibility timeout needs a heartbeat. */
const STATIC_VISIBILITY_MS_MAX: DurationMs = minutes(5);
/** Lambda's advice: the function may be retried within the timeout. */
const VISIBILITY_PER_TIMEOUT = 6;
const QUEUE_NAME = /^[\w-]+(?:\.fifo)?$/;

/** Checked when a pipeline starts, after those of dead-letter-rules.ts. */
export const VISIBILITY_RULES: readonly Rule[] = [
  {
    id: "TGD012",
    name: "visibility-short",
    title: "Visibility timeout below that of the pipeline",
    severity: "warning",
    risk: "double effect",
    consequence: "A message becomes visible while it is processed, and is delivered again.",
    fix: "Set VisibilityTimeout to the pipeline's visibilityMs.",
    check: forQueues(({ queue, pipeline }) => {
      if (pipeline === null || queue.visibilityMs === undefined) return null;
      if (queue.visibilityMs * 2 >= pipeline.visibilityMs) return null;
      return (
        `queue ${queue.name} has a visibility timeout of ${spanText(queue.visibilityMs)} and this ` +
        `pipeline one of ${spanText(pipeline.visibilityMs)}, so other receivers, such as the AWS ` +
        `console, cause duplicates; set VisibilityTimeout to ${spanText(pipeline.visibilityMs)}`
      );
    }),
  },
  {
    id: "TGD013",
    name: "short-polling",
    title: "Short polling by default",
    severity: "warning",
    risk: "cost",
    consequence: "Receivers pay for empty responses and may miss messages that are there.",
    fix: "Set ReceiveMessageWaitTimeSeconds to 20.",
    check: forQueues(({ queue, polledByAws }) =>
      queue.waitMs === undefined || queue.waitMs >= seconds(1) || polledByAws
        ? null
        : `queue ${queue.name} uses short polling by default, so other receivers pay for empty ` +
          `responses and may miss messages; set ReceiveMessageWaitTimeSeconds to ` +
          `${SQS_RECEIVE_WAIT_MS_MAX / 1_000}`,
    ),
  },
  {
    id: "TGD014",
    name: "retention-short",
    title: "Retention below one day",
    severity: "warning",
    risk: "loss",
    consequence: "An outage overnight deletes messages that no one has received.",
    fix: "Set MessageRetentionPeriod to 4 days.",
    check: forQueues(({ queue }) =>
      queue.retentionMs === undefined || queue.retentionMs >= QUEUE_RETENTION_MS_MIN
        ? null
        : `queue ${queue.name} deletes messages after ${spanText(queue.retentionMs)}, so an ` +
          `outage overnight loses them; set MessageRetentionPeriod to ` +
          `${spanText(SQS_RETENTION_MS_DEFAULT)}`,
    ),
  },
];

export const QUEUE_SETTING_RULES: readonly Rule[] = [
  {
    id: "TGD015",
    name: "receives-missing",
    title: "Redrive policy without maxReceiveCount",
    severity: "error",
    risk: "loss",
    consequence: "SQS refuses the policy, so the queue stays without a dead-letter queue.",
    fix: "Add maxReceiveCount to the RedrivePolicy.",
    check: forQueues(({ queue, pipeline }) => {
      const { redrive } = queue;
      if (redrive === null || redrive === undefined) return null;
      const count = redrive.maxReceiveCount;
      if (count === undefined || (count !== null && Number.isInteger(count) && count > 0)) {
        return null;
      }
      return (
        `the RedrivePolicy of ${queue.name} has no valid maxReceiveCount, so SQS refuses it; set ` +
        `maxReceiveCount to ${receivesLeast(pipeline?.attempts ?? ATTEMPTS_DEFAULT)}`
      );
    }),
  },
  {
    id: "TGD016",
    name: "visibility-static",
    title: "Long visibility timeout without heartbeat",
    severity: "warning",
    risk: "delay",
    consequence: "After a crash, no one gets the message before the whole timeout has passed.",
    fix: "Set a timeout of a minute and extend it with ChangeMessageVisibility while work continues.",
    check: (setup) => {
      const extended = setup.code.some(({ pattern }) => pattern === "heartbeat");
      const mapped = new Set(setup.mappings.map(({ queueArn }) => queueArn));
      return forQueues(({ queue, pipeline }) => {
        const { visibilityMs } = queue;
        if (visibilityMs === undefined || visibilityMs <= STATIC_VISIBILITY_MS_MAX) return null;
        if (pipeline !== null || extended || mapped.has(queue.arn)) return null;
        return (
          `queue ${queue.name} hides a message for ${spanText(visibilityMs)} and nothing extends ` +
          `that, so a crash delays the message by as much; set VisibilityTimeout to ` +
          `${spanText(minutes(1))} and extend it with ChangeMessageVisibility`
        );
      })(setup);
    },
  },
  {
    id: "TGD017",
    name: "visibility-below-function",
    title: "Visibility timeout too short for a Lambda function",
    severity: "error",
    risk: "double effect",
    consequence: "Lambda's own retries overlap with a redelivery, and both run.",
    fix: "Set VisibilityTimeout to six times the timeout of the function.",
    check: ({ mappings, queues }) =>
      mappings.flatMap(({ location, queueArn, timeoutMs }) => {
        const queue = queues.find(({ arn }) => arn === queueArn);
        if (queue?.visibilityMs === undefined || timeoutMs === undefined) return [];
        const least = timeoutMs * VISIBILITY_PER_TIMEOUT;
        if (queue.visibilityMs >= least) return [];
        const message =
          `queue ${queue.name} hides a message for ${spanText(queue.visibilityMs)} and its ` +
          `function may run for ${spanText(timeoutMs)}, so retries run beside it; set ` +
          `VisibilityTimeout to ${spanText(least)}`;
        return [{ location, message }];
      }),
  },
  {
    id: "TGD018",
    name: "queue-name",
    title: "Queue name that AWS refuses",
    severity: "error",
    risk: "loss",
    consequence: "The queue is never created, and neither is what depends on it.",
    fix: "Use letters, digits, hyphens and underscores; end FIFO queues, and only those, in .fifo.",
    check: ({ queues }) =>
      queues.flatMap(({ name, fifo, location }) => {
        const problem = nameProblem(name, fifo);
        return problem === null ? [] : [{ location, message: `${problem}; name it otherwise` }];
      }),
  },
  {
    id: "TGD019",
    name: "redrive-refused",
    title: "Dead-letter queue that does not allow its source",
    severity: "error",
    risk: "loss",
    consequence:
      "SQS refuses the RedrivePolicy, so failed messages stay in the queue until they expire.",
    fix: "Name the source queue in the RedriveAllowPolicy, or remove that policy.",
    check: forQueues(({ queue, deadLetters }) => {
      const allowance = deadLetters?.redriveAllow ?? null;
      if (allowance === null || allowance.permission === "allowAll") return null;
      if (allowance.permission === "byQueue" && allowance.sources.includes(queue.arn)) return null;
      return (
        `dead-letter queue ${deadLetters?.name} does not allow ${queue.name} as its source, so ` +
        `SQS refuses the RedrivePolicy; name ${queue.name} in its RedriveAllowPolicy`
      );
    }),
  },
  {
    id: "TGD020",
    name: "dedup-per-group",
    title: "Deduplication per message group",
    severity: "note",
    risk: "double effect",
    consequence: "The same deduplication id in two message groups is delivered twice.",
    fix: "Derive the group from the key, so that one key is always in one group.",
    check: forQueues(({ queue }) =>
      queue.dedupPerGroup !== true
        ? null
        : `queue ${queue.name} deduplicates per message group, so one id in two groups is ` +
          `delivered twice; derive the group from the deduplication key`,
    ),
  },
  {
    id: "TGD021",
    name: "queue-unencrypted",
    title: "Queue without encryption at rest",
    severity: "error",
    risk: "exposure",
    consequence: "Message bodies are stored in plain text.",
    fix: "Enable SSE-SQS, or name a customer managed key.",
    check: ({ queues }) =>
      queues.filter(isUnencrypted).map(({ name, location }) => ({
        location,
        message:
          `queue ${name} stores messages unencrypted, so everyone with access to its storage reads them; ` +
          `set SqsManagedSseEnabled to true`,
      })),
  },
  {
    id: "TGD022",
    name: "dead-letters-unencrypted",
    title: "Dead-letter queue that is encrypted less than its source",
    severity: "warning",
    risk: "exposure",
    consequence: "Failed messages lose the protection of the customer managed key.",
    fix: "Use the key of the queue for its dead-letter queue too.",
    check: (setup) =>
      deadLetterQueues(setup).flatMap(({ arn, name, kmsKey, location }) => {
        if (kmsKey !== null) return [];
        const source = setup.queues.find(({ redrive }) => redrive?.deadLetterArn === arn);
        if (typeof source?.kmsKey !== "string") return [];
        const message =
          `dead-letter queue ${name} does not use the KMS key of ${source.name}, so failed ` +
          `messages are protected less; set the same KmsMasterKeyId`;
        return [{ location, message }];
      }),
  },
];

function isUnencrypted({ kmsKey, sqsKey }: ObservedQueue): boolean {
  return kmsKey === null && sqsKey === false;
}

function nameProblem(name: string, fifo: boolean): string | null {
  if (name.length > SQS_QUEUE_NAME_CHARACTERS_MAX) {
    const limit = SQS_QUEUE_NAME_CHARACTERS_MAX;
    return `queue name ${name} has ${name.length} characters, and AWS allows ${limit}`;
  }
  if (!QUEUE_NAME.test(name)) {
    return `queue name ${name} contains characters that AWS refuses, so it is never created`;
  }
  if (name.endsWith(".fifo") === fifo) return null;
  return fifo
    ? `queue ${name} is FIFO, but its name does not end in .fifo, so AWS refuses it`
    : `queue ${name} is not FIFO, but its name ends in .fifo, so AWS refuses it`;
}
