// Subscription: one endpoint that receives the messages of a topic.
//   S1. Until it is confirmed, it receives only the request to confirm.
//   S2. An HTTP endpoint has a pending queue, which has no name: each copy enters it in the commit
//       of the publish, and HttpDelivery takes it out. An SQS endpoint has none.

import type { EpochMs } from "../../../core/units.ts";
import type { QueueState } from "../sqs/queue.ts";
import type { ArchiveReplay } from "./archive-replay.ts";
import { type PartialDeliveryPolicy, parseSubscriptionDeliveryPolicy } from "./delivery-policy.ts";
import type { FilterPolicy, FilterScope } from "./filter-policy.ts";
import { parseFilterPolicy } from "./filter-policy-validation.ts";
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
  /** The token that confirms the endpoint; null if it needs none (S1). */
  readonly token: string | null;
  readonly confirmed: boolean;
  readonly confirmationAuthenticated: boolean;
  readonly authenticateOnUnsubscribe: boolean;
  /** Number of its pending queue, or 0 (S2). */
  readonly pendingHttp: number;
  readonly replay: ArchiveReplay | null;
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
  /** With a rate limit, HttpDelivery may take the next message from this instant on. */
  nextTakeAt = 0;

  constructor(record: SubscriptionRecord, topic: Topic, pendingHttp: QueueState | null) {
    this.record = record;
    this.settings = subscriptionSettings(record.attributes);
    this.topic = topic;
    this.pendingHttp = pendingHttp;
  }

  /** Replaces the record and derives the settings from it. */
  update(record: SubscriptionRecord): void {
    this.record = record;
    this.settings = subscriptionSettings(record.attributes);
  }
}

export function filterScope(attributes: Readonly<Record<string, string>>): FilterScope {
  return attributes.FilterPolicyScope === "MessageBody" ? "MessageBody" : "MessageAttributes";
}

/** Reads attributes that were validated when they were set. */
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

/** The queue in a subscription's RedrivePolicy; null if the policy is invalid. */
export function deadLetterArn(policy: string): string | null {
  try {
    const parsed = JSON.parse(policy) as { readonly deadLetterTargetArn?: unknown } | null;
    const arn = parsed?.deadLetterTargetArn;
    return typeof arn === "string" ? arn : null;
  } catch {
    return null;
  }
}
