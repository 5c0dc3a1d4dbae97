// SubscriptionAttributes: which attributes a subscription may have, and how they read back.
//   A1. Values are AWS's strings throughout.
//   A2. Nothing is set unless all given values are valid, and valid together: a filter policy is
//       checked against its new scope.

import { refuseWith, succeed } from "../../../core/result.ts";
import { lowerBooleans } from "../boolean-attributes.ts";
import type { BrokerState } from "../broker-state.ts";
import { parseReplayPolicy } from "./archive-replay.ts";
import {
  effectivePolicy,
  formatSubscriptionPolicy,
  parseSubscriptionDeliveryPolicy,
} from "./delivery-policy.ts";
import { parseFilterPolicy } from "./filter-policy-validation.ts";
import { deadLetterArn, filterScope, type Protocol, type Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";
import type { MergedAttributes } from "./topic-attributes.ts";

/** The subscription whose attributes are checked, as far as it exists. */
export interface SubscriptionTarget {
  readonly topic: Topic;
  readonly protocol: Protocol;
  readonly endpoint: string;
  readonly current: Readonly<Record<string, string>>;
}

type Check = (value: string, target: SubscriptionTarget) => string | null;

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["DeliveryPolicy", checkDeliveryPolicy],
  ["FilterPolicy", () => null], // Checked with its scope, below.
  ["FilterPolicyScope", checkScope],
  ["RawMessageDelivery", checkRaw],
  ["RedrivePolicy", checkRedrivePolicy],
  ["ReplayPolicy", checkReplayPolicy],
  ["SubscriptionRoleArn", () => null],
]);

const BOOLEANS = new Set(["RawMessageDelivery"]);
/** Attributes that an empty value removes. */
const REMOVABLE = new Set(["DeliveryPolicy", "FilterPolicy", "RedrivePolicy", "ReplayPolicy"]);

function checkScope(value: string): string | null {
  if (value === "MessageBody" || value === "MessageAttributes") return null;
  return (
    `FilterPolicyScope: Invalid value [${value}]. Please use either MessageBody or ` +
    "MessageAttributes"
  );
}

function checkRaw(value: string): string | null {
  if (value === "true" || value === "false") return null;
  return `RawMessageDelivery: Invalid value [${value}]. Must be true or false.`;
}

function checkDeliveryPolicy(value: string, { protocol }: SubscriptionTarget): string | null {
  if (protocol === "sqs") return "DeliveryPolicy: Only http and https endpoints have one";
  const parsed = parseSubscriptionDeliveryPolicy(value);
  return parsed.ok ? null : parsed.fault;
}

function checkRedrivePolicy(value: string, target: SubscriptionTarget): string | null {
  try {
    JSON.parse(value);
  } catch {
    return "RedrivePolicy: failed to parse JSON.";
  }
  const arn = deadLetterArn(value) ?? "";
  if (!/^arn:[^:]*:sqs:[^:]*:[^:]*:[^:]+$/.test(arn)) {
    return "RedrivePolicy: deadLetterTargetArn is an invalid arn";
  }
  const fifo = target.topic.fifo && target.endpoint.endsWith(".fifo");
  if (fifo && !arn.endsWith(".fifo")) {
    return "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.";
  }
  return null;
}

function checkReplayPolicy(value: string, { topic }: SubscriptionTarget): string | null {
  if (topic.settings.archiveMs === null) {
    return "ReplayPolicy: The topic must have an ArchivePolicy";
  }
  const parsed = parseReplayPolicy(value);
  return parsed.ok ? null : parsed.fault;
}

/** The attributes of a subscription after `given` is set, or the refusal (A2). */
export function mergeSubscriptionAttributes(
  target: SubscriptionTarget,
  given: Readonly<Record<string, string>>,
): MergedAttributes {
  const attributes: Record<string, string> = { ...target.current };
  for (const [name, value] of Object.entries(lowerBooleans(given, BOOLEANS))) {
    const check = CHECKS.get(name);
    if (check === undefined) return refuseWith("AttributeName");
    if (value === "" && REMOVABLE.has(name)) {
      delete attributes[name];
      continue;
    }
    const reason = check(value, target);
    if (reason !== null) return refuseWith(reason);
    attributes[name] = value;
  }
  const filter = attributes.FilterPolicy;
  if (filter !== undefined && ("FilterPolicy" in given || "FilterPolicyScope" in given)) {
    const parsed = parseFilterPolicy(filter, filterScope(attributes));
    if (!parsed.ok) return parsed;
  }
  return succeed(attributes);
}

/** As GetSubscriptionAttributes returns them. */
export function viewAttributes(
  state: BrokerState,
  subscription: Subscription,
): Record<string, string> {
  const { record, topic, settings } = subscription;
  const { account } = state.identity;
  const topicArn = state.topicArnOf(topic.record.name);
  const { FilterPolicy: filter, FilterPolicyScope: _scope, ...others } = record.attributes;
  const policy = effectivePolicy(topic.settings.delivery, settings.delivery);
  return {
    SubscriptionArn: `${topicArn}:${record.id}`,
    TopicArn: topicArn,
    Owner: account,
    Endpoint: record.endpoint,
    Protocol: record.protocol,
    ConfirmationWasAuthenticated: String(record.confirmationAuthenticated),
    PendingConfirmation: String(!record.confirmed),
    RawMessageDelivery: "false",
    SubscriptionPrincipal: `arn:aws:iam::${account}:user/tidegate`,
    ...(record.protocol === "sqs"
      ? {}
      : { EffectiveDeliveryPolicy: formatSubscriptionPolicy(policy) }),
    ...others,
    ...(filter === undefined
      ? {}
      : { FilterPolicy: filter, FilterPolicyScope: filterScope(record.attributes) }),
    ...(record.replay === null || others.ReplayPolicy === undefined
      ? {}
      : { ReplayStatus: record.replay.status }),
  };
}
