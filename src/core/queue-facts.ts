// Queue facts: the attributes of a queue as values; SQS returns them as text and in seconds. A
// missing attribute has SQS's default, by which the queue acts.

import {
  SQS_MESSAGE_BYTES_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_VISIBILITY_MS_DEFAULT,
} from "./limits.ts";
import { type DurationMs, seconds } from "./units.ts";

/** The attributes to request. */
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

/** SQS returns maxReceiveCount as a number; other implementations and older policies as text. */
function redriveOf(policy: string | undefined): RedriveFacts | null {
  if (policy === undefined || policy === "") return null;
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(policy) as {
    deadLetterTargetArn?: string;
    maxReceiveCount?: number | string;
  };
  if (deadLetterTargetArn === undefined) return null;
  return { deadLetterArn: deadLetterTargetArn, maxReceiveCount: Number(maxReceiveCount) };
}
