// AttributeView: a queue's attributes as GetQueueAttributes returns them, with defaults and counts;
// and the part of them that a second CreateQueue is compared with.

import {
  SQS_KMS_REUSE_MS_DEFAULT,
  SQS_MESSAGE_BYTES_SETTING_MAX,
  SQS_RETENTION_MS_DEFAULT,
  SQS_VISIBILITY_MS_DEFAULT,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { QueueState } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";

const DEFAULTS: Readonly<Record<string, string>> = {
  DelaySeconds: "0",
  MaximumMessageSize: String(SQS_MESSAGE_BYTES_SETTING_MAX),
  MessageRetentionPeriod: String(SQS_RETENTION_MS_DEFAULT / 1_000),
  ReceiveMessageWaitTimeSeconds: "0",
  SqsManagedSseEnabled: "true",
  VisibilityTimeout: String(SQS_VISIBILITY_MS_DEFAULT / 1_000),
};

const FIFO_DEFAULTS: Readonly<Record<string, string>> = {
  FifoQueue: "true",
  ContentBasedDeduplication: "false",
  DeduplicationScope: "queue",
  FifoThroughputLimit: "perQueue",
};

/** The period is returned only for a queue that has a key to reuse. */
const KMS_DEFAULTS: Readonly<Record<string, string>> = {
  KmsDataKeyReusePeriodSeconds: String(SQS_KMS_REUSE_MS_DEFAULT / 1_000),
};

/** Attributes that exist but may be unset, or belong to the other type of queue. */
const OPTIONAL = new Set([
  "Policy",
  "RedrivePolicy",
  "RedriveAllowPolicy",
  "KmsMasterKeyId",
  ...Object.keys(KMS_DEFAULTS),
  ...Object.keys(FIFO_DEFAULTS),
]);

/** The settable attributes with their defaults. */
export function settingsView(queue: QueueState): Record<string, string> {
  return {
    ...DEFAULTS,
    ...(queue.fifo ? FIFO_DEFAULTS : {}),
    ...(queue.record.attributes.KmsMasterKeyId === undefined ? {} : KMS_DEFAULTS),
    ...queue.record.attributes,
  };
}

function fullView(state: BrokerState, queue: QueueState): Record<string, string> {
  const { record } = queue;
  return {
    QueueArn: state.arnOf(record.name),
    ApproximateNumberOfMessages: String(queue.visible),
    ApproximateNumberOfMessagesNotVisible: String(queue.inFlight),
    ApproximateNumberOfMessagesDelayed: String(queue.delayed),
    CreatedTimestamp: String(Math.floor(record.createdAt / 1_000)),
    LastModifiedTimestamp: String(Math.floor(record.modifiedAt / 1_000)),
    ...settingsView(queue),
  };
}

export function stepGetQueueAttributes(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string; names: readonly string[] },
): Result<{ attributes: Record<string, string> }, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const view = fullView(state, queue);
  for (const name of input.names) {
    if (name !== "All" && !Object.hasOwn(view, name) && !OPTIONAL.has(name)) {
      return refuse("InvalidAttributeName", `Unknown Attribute ${name}.`);
    }
  }
  if (input.names.includes("All")) return succeed({ attributes: view });
  const attributes: Record<string, string> = {};
  for (const name of input.names) {
    const value = Object.hasOwn(view, name) ? view[name] : undefined;
    if (value !== undefined) attributes[name] = value;
  }
  return succeed({ attributes });
}
