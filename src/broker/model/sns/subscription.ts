// Subscription: one endpoint that wants what a topic is told.
//   S1. Until it is confirmed, nothing but the request to confirm is sent to it.
//   S2. An http endpoint is served from an outbox: a queue that nobody can name, into which each
//       copy goes in the same commit as the publish, and out of which the courier takes it. An SQS
//       endpoint needs none.

import type { EpochMs } from "../../../core/units.ts";
import type { QueueState } from "../sqs/queue.ts";
import { type PartialDeliveryPolicy, parseSubscriptionDeliveryPolicy } from "./delivery-policy.ts";
import type { FilterPolicy, FilterScope } from "./filter-policy.ts";
import { parseFilterPolicy } from "./filter-policy-validation.ts";
import type { Replay } from "./replay.ts";
import type { Topic } from "./topic.ts";

export type Protocol = "sqs" | "http" | "https";

export interface SubscriptionRecord {
  readonly id: string;
  /** Number of its topic. */
  readonly topic: number;
  /** Position among all subscriptions, growing. */
  readonly order: number;
  readonly protocol: Protocol;
  readonly endpoint: string;
  readonly createdAt: EpochMs;
  readonly attributes: Readonly<Record<string, string>>;
  /** What the endpoint must show to be confirmed; null for those that need not (S1). */
  readonly token: string | null;
  readonly confirmed: boolean;
  readonly confirmationAuthenticated: boolean;
  readonly authenticateOnUnsubscribe: boolean;
  /** Number of its pendingHttp, or 0 (S2). */
  readonly pendingHttp: number;
  readonly replay: Replay | null;
}

export interface SubscriptionSettings {
  readonly filter: FilterPolicy | null;
  readonly raw: boolean;
  readonly deadLetterArn: string | null;
  readonly delivery: PartialDeliveryPolicy | null;
}

export class Subscription {
  record: SubscriptionRecord;
  settings: SubscriptionSettings;
  readonly topic: Topic;
  readonly pendingHttp: QueueState | null;
  /** The courier may take the next message from here on, where a rate is set. */
  nextTakeAt = 0;

  constructor(record: SubscriptionRecord, topic: Topic, pendingHttp: QueueState | null) {
    this.record = record;
    this.settings = subscriptionSettings(record.attributes);
    this.topic = topic;
    this.pendingHttp = pendingHttp;
  }

  /** Takes a changed record; the settings follow it. */
  update(record: SubscriptionRecord): void {
    this.record = record;
    this.settings = subscriptionSettings(record.attributes);
  }
}

export function filterScope(attributes: Readonly<Record<string, string>>): FilterScope {
  return attributes.FilterPolicyScope === "MessageBody" ? "MessageBody" : "MessageAttributes";
}

/** Reads attributes that were checked when they were set. */
function subscriptionSettings(attributes: Readonly<Record<string, string>>): SubscriptionSettings {
  const { FilterPolicy: filter, RedrivePolicy: redrive, DeliveryPolicy: delivery } = attributes;
  const parsed = filter === undefined ? null : parseFilterPolicy(filter, filterScope(attributes));
  const policy = delivery === undefined ? null : parseSubscriptionDeliveryPolicy(delivery);
  return {
    filter: parsed?.ok ? parsed.value : null,
    raw: attributes.RawMessageDelivery === "true",
    deadLetterArn: redrive === undefined ? null : deadLetterArn(redrive),
    delivery: policy?.ok ? policy.value : null,
  };
}

/** The queue that a subscription's RedrivePolicy names; null if the policy is none. */
export function deadLetterArn(policy: string): string | null {
  try {
    const parsed = JSON.parse(policy) as { readonly deadLetterTargetArn?: unknown } | null;
    const arn = parsed?.deadLetterTargetArn;
    return typeof arn === "string" ? arn : null;
  } catch {
    return null;
  }
}
