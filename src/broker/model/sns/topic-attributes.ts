// TopicAttributes: which attributes a topic may have, and how they read back.
//   A1. Values are AWS's strings throughout; a topic stores what was set, and defaults are added on
//       read.
//   A2. Nothing is set unless all given values are valid.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import {
  SNS_ARCHIVE_DAYS_MAX,
  SNS_MESSAGE_BYTES_MAX,
  SQS_MESSAGE_BYTES_SETTING_MIN,
} from "../../../core/limits.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { RunningTime } from "../../../core/running-time.ts";
import { type EpochMs, epochMs } from "../../../core/units.ts";
import { lowerBooleans } from "../boolean-attributes.ts";
import type { BrokerState } from "../broker-state.ts";
import { formatTopicPolicy, parseTopicDeliveryPolicy } from "./delivery-policy.ts";
import { archiveDays, type Topic } from "./topic.ts";
import { checkTopicPolicy } from "./topic-policy.ts";

/** The reason to refuse a value, or null. */
type Check = (value: string) => string | null;

function oneOf(name: string, ...values: string[]): Check {
  return (value) =>
    values.includes(value)
      ? null
      : `${name}: Invalid value [${value}]. Must be ${values.join(" or ")}.`;
}

const accept: Check = () => null;

const FEEDBACK_PROTOCOLS = ["Application", "Firehose", "HTTP", "Lambda", "SQS"];

const FEEDBACK_CHECKS: readonly (readonly [string, Check])[] = FEEDBACK_PROTOCOLS.flatMap(
  (protocol): [string, Check][] => [
    [`${protocol}SuccessFeedbackRoleArn`, accept],
    [`${protocol}FailureFeedbackRoleArn`, accept],
    [`${protocol}SuccessFeedbackSampleRate`, checkSampleRate],
  ],
);

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...FEEDBACK_CHECKS,
  ["ArchivePolicy", checkArchivePolicy],
  ["ContentBasedDeduplication", oneOf("ContentBasedDeduplication", "true", "false")],
  ["DeliveryPolicy", checkDeliveryPolicy],
  ["DisplayName", checkDisplayName],
  ["FifoThroughputScope", oneOf("FifoThroughputScope", "Topic", "MessageGroup")],
  ["KmsMasterKeyId", accept],
  ["MaximumMessageSize", checkMessageSize],
  ["Policy", checkTopicPolicy],
  ["SignatureVersion", oneOf("SignatureVersion", "1", "2")],
  ["TracingConfig", oneOf("TracingConfig", "PassThrough", "Active")],
]);

const FIFO_ONLY = new Set(["ArchivePolicy", "ContentBasedDeduplication", "FifoThroughputScope"]);
const BOOLEANS = new Set(["ContentBasedDeduplication"]);
/** Attributes that an empty value removes. */
const REMOVABLE = new Set(["ArchivePolicy", "DeliveryPolicy", "KmsMasterKeyId", "Policy"]);

const DISPLAY_NAME_CHARACTERS_MAX = 100;

function checkSampleRate(value: string): string | null {
  const fits = /^\d{1,3}$/.test(value) && Number(value) <= 100;
  return fits ? null : `Invalid value [${value}] for a sample rate. Must be from 0 to 100.`;
}

function checkDisplayName(value: string): string | null {
  return value.length <= DISPLAY_NAME_CHARACTERS_MAX ? null : "DisplayName: too long";
}

function checkMessageSize(value: string): string | null {
  const number = /^\d{1,7}$/.test(value) ? Number(value) : 0;
  const fits = number >= SQS_MESSAGE_BYTES_SETTING_MIN && number <= SNS_MESSAGE_BYTES_MAX;
  const range = `from ${SQS_MESSAGE_BYTES_SETTING_MIN} to ${SNS_MESSAGE_BYTES_MAX}`;
  return fits ? null : `MaximumMessageSize: Invalid value [${value}]. Must be ${range}.`;
}

function checkDeliveryPolicy(value: string): string | null {
  const parsed = parseTopicDeliveryPolicy(value);
  return parsed.ok ? null : parsed.fault;
}

function checkArchivePolicy(value: string): string | null {
  if (isEmptyPolicy(value)) return null;
  const days = archiveDays(value);
  if (days !== null && days >= 1 && days <= SNS_ARCHIVE_DAYS_MAX) return null;
  return `ArchivePolicy: MessageRetentionPeriod must be from 1 to ${SNS_ARCHIVE_DAYS_MAX} days`;
}

function isEmptyPolicy(value: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(value);
}

export type MergedAttributes = Result<Record<string, string>, string>;

/** The attributes of a topic after `given` is set, or the refusal (A2). */
export function mergeTopicAttributes(
  current: Readonly<Record<string, string>>,
  fifo: boolean,
  given: Readonly<Record<string, string>>,
): MergedAttributes {
  const attributes: Record<string, string> = { ...current };
  for (const [name, value] of Object.entries(lowerBooleans(given, BOOLEANS))) {
    const check = CHECKS.get(name);
    if (check === undefined) return refuseWith("AttributeName");
    if (!fifo && FIFO_ONLY.has(name)) {
      return refuseWith(`${name} is only supported on FIFO topics`);
    }
    if (REMOVABLE.has(name) && (value === "" || isEmptyPolicy(value))) {
      delete attributes[name];
      continue;
    }
    const reason = check(value);
    if (reason !== null) return refuseWith(reason);
    attributes[name] = value;
  }
  return succeed(attributes);
}

const DEFAULT_ACTIONS = [
  "GetTopicAttributes",
  "SetTopicAttributes",
  "AddPermission",
  "RemovePermission",
  "DeleteTopic",
  "Subscribe",
  "ListSubscriptionsByTopic",
  "Publish",
];

/** The default policy of a topic: its owner may do everything. */
export function defaultTopicPolicy(arn: string, account: string): string {
  return JSON.stringify({
    Version: "2008-10-17",
    Id: "__default_policy_ID",
    Statement: [
      {
        Sid: "__default_statement_ID",
        Effect: "Allow",
        Principal: { AWS: "*" },
        Action: DEFAULT_ACTIONS.map((action) => `SNS:${action}`),
        Resource: arn,
        Condition: { StringEquals: { "AWS:SourceOwner": account } },
      },
    ],
  });
}

/** As GetTopicAttributes returns them (A1). */
export function viewTopic(state: BrokerState, topic: Topic, now: EpochMs): Record<string, string> {
  const { record, settings } = topic;
  const { account } = state.identity;
  const arn = state.topicArnOf(record.name);
  const all = [...topic.subscriptions.values()];
  const confirmed = all.filter((subscription) => subscription.record.confirmed).length;
  return {
    TopicArn: arn,
    Owner: account,
    Policy: defaultTopicPolicy(arn, account),
    DisplayName: "",
    SubscriptionsConfirmed: String(confirmed),
    SubscriptionsPending: String(all.length - confirmed),
    SubscriptionsDeleted: String(record.subscriptionsDeleted),
    EffectiveDeliveryPolicy: formatTopicPolicy(settings.delivery),
    ...(topic.fifo ? { FifoTopic: "true", ContentBasedDeduplication: "false" } : {}),
    ...record.attributes,
    ...archiveView(topic, now, state.time),
  };
}

/** The earliest instant from which a replay can start. */
function archiveView(
  { record, settings }: Topic,
  now: EpochMs,
  time: RunningTime,
): Record<string, string> {
  if (settings.archiveMs === null || record.archivedSince === null) return {};
  const startsAt = epochMs(Math.max(record.archivedSince, time.ago(now, settings.archiveMs)));
  return { BeginningArchiveTime: formatInstant(startsAt) };
}
