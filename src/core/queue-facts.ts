// Queue facts: the attributes of a queue, which SQS tells as text and in seconds, as values. An
// attribute that a queue does not tell has SQS's default, which is what it acts by.

import {
  SQS_MESSAGE_BYTES_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_VISIBILITY_MS_DEFAULT,
} from "./limits.ts";
import { type DurationMs, seconds } from "./units.ts";

/** What has to be asked for. */
export const QUEUE_FACT_ATTRIBUTES = [
  "QueueArn",
  "VisibilityTimeout",
  "MessageRetentionPeriod",
  "ReceiveMessageWaitTimeSeconds",
  "MaximumMessageSize",
  "RedrivePolicy",
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed",
] as const;

type Attributes = Readonly<Record<string, string | undefined>>;

export interface RedriveFacts {
  readonly deadLetterArn: string;
  readonly maxReceiveCount: number;
}

export function queueFactsOf(attributes: Attributes) {
  return {
    arn: attributes.QueueArn ?? "",
    visibilityMs: spanOf(attributes.VisibilityTimeout, SQS_VISIBILITY_MS_DEFAULT),
    retentionMs: spanOf(attributes.MessageRetentionPeriod, SQS_RETENTION_MS_DEFAULT),
    waitMs: spanOf(attributes.ReceiveMessageWaitTimeSeconds, seconds(0)),
    messageBytesMax: Number(attributes.MaximumMessageSize || SQS_MESSAGE_BYTES_MAX),
    redrive: redriveOf(attributes.RedrivePolicy),
    visible: Number(attributes.ApproximateNumberOfMessages ?? 0),
    hidden: Number(attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
    delayed: Number(attributes.ApproximateNumberOfMessagesDelayed ?? 0),
  };
}

function spanOf(text: string | undefined, fallback: DurationMs): DurationMs {
  return text === undefined || text === "" ? fallback : seconds(Number(text));
}

/** SQS tells maxReceiveCount as a number; others, and older policies, as text. */
function redriveOf(policy: string | undefined): RedriveFacts | null {
  if (policy === undefined || policy === "") return null;
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(policy) as {
    deadLetterTargetArn?: string;
    maxReceiveCount?: number | string;
  };
  if (deadLetterTargetArn === undefined) return null;
  return { deadLetterArn: deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) };
}
