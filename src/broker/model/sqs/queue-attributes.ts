// QueueAttributes: which attributes a queue may have, and how they read back.
//   A1. Values are AWS's strings throughout; queueSettingsOf turns them into numbers once.
//   A2. A queue stores the attributes that were set, not the defaults, which are added on read.
//   A3. Nothing is set unless all given values are valid.
//   A4. Stored values can be returned in both protocols, so no value contains characters that XML
//       cannot carry.

import { hasInvalidXmlCharacter, utf8ByteLength } from "../../../core/encoding/text.ts";
import {
  SQS_DELAY_MS_MAX,
  SQS_KMS_REUSE_MS_MAX,
  SQS_KMS_REUSE_MS_MIN,
  SQS_MESSAGE_BYTES_SETTING_MAX,
  SQS_MESSAGE_BYTES_SETTING_MIN,
  SQS_POLICY_BYTES_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_RETENTION_MS_MAX,
  SQS_RETENTION_MS_MIN,
  SQS_VISIBILITY_MS_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import { invalidValue } from "./queue-faults.ts";
import {
  allowsSource,
  formatRedriveAllow,
  formatRedrivePolicy,
  parseObject,
  parseRedriveAllow,
  parseRedrivePolicy,
} from "./redrive-policy.ts";

/** The queue whose attributes are checked, as far as it exists. */
export interface AttributeTarget {
  readonly name: string;
  readonly fifo: boolean;
  /** Null while the queue is being created. */
  readonly current: Readonly<Record<string, string>> | null;
}

type Check = (value: string, target: AttributeTarget, state: BrokerState) => Result<string, Fault>;

function badValue(name: string) {
  return refuse("InvalidAttributeValue", `Invalid value for the parameter ${name}.`);
}

function whole(name: string, min: number, max: number): Check {
  return (value) => {
    const inRange = /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max;
    return inRange ? succeed(String(Number(value))) : badValue(name);
  };
}

function oneOf(name: string, ...values: string[]): Check {
  return (value) => (values.includes(value) ? succeed(value) : badValue(name));
}

const SECOND_MS = 1_000;

const CHECKS: Readonly<Record<string, Check>> = {
  VisibilityTimeout: whole("VisibilityTimeout", 0, SQS_VISIBILITY_MS_MAX / SECOND_MS),
  DelaySeconds: whole("DelaySeconds", 0, SQS_DELAY_MS_MAX / SECOND_MS),
  MaximumMessageSize: whole(
    "MaximumMessageSize",
    SQS_MESSAGE_BYTES_SETTING_MIN,
    SQS_MESSAGE_BYTES_SETTING_MAX,
  ),
  MessageRetentionPeriod: whole(
    "MessageRetentionPeriod",
    SQS_RETENTION_MS_MIN / SECOND_MS,
    SQS_RETENTION_MS_MAX / SECOND_MS,
  ),
  ReceiveMessageWaitTimeSeconds: whole(
    "ReceiveMessageWaitTimeSeconds",
    0,
    SQS_RECEIVE_WAIT_MS_MAX / SECOND_MS,
  ),
  KmsDataKeyReusePeriodSeconds: whole(
    "KmsDataKeyReusePeriodSeconds",
    SQS_KMS_REUSE_MS_MIN / SECOND_MS,
    SQS_KMS_REUSE_MS_MAX / SECOND_MS,
  ),
  KmsMasterKeyId: (value) => succeed(value),
  SqsManagedSseEnabled: oneOf("SqsManagedSseEnabled", "true", "false"),
  FifoQueue: checkFifoQueue,
  ContentBasedDeduplication: oneOf("ContentBasedDeduplication", "true", "false"),
  DeduplicationScope: oneOf("DeduplicationScope", "queue", "messageGroup"),
  FifoThroughputLimit: oneOf("FifoThroughputLimit", "perQueue", "perMessageGroupId"),
  Policy: checkPolicy,
  RedrivePolicy: checkRedrivePolicy,
  RedriveAllowPolicy: (value) => {
    const parsed = parseRedriveAllow(value);
    return parsed.ok ? succeed(formatRedriveAllow(parsed.value)) : parsed;
  },
};

/** Attributes whose value is a boolean, in any case. */
export const BOOLEAN_ATTRIBUTES: ReadonlySet<string> = new Set([
  "FifoQueue",
  "ContentBasedDeduplication",
  "SqsManagedSseEnabled",
]);
/** Attributes that an empty value removes. */
const REMOVABLE = new Set(["Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId"]);
const UNKNOWN_ON_STANDARD = new Set(["FifoQueue", "ContentBasedDeduplication"]);
const FIFO_ONLY = new Set(["DeduplicationScope", "FifoThroughputLimit"]);
const TWO_ENCRYPTIONS =
  "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS " +
  "SSE or SQS SSE.";

function checkFifoQueue(value: string, target: AttributeTarget): Result<string, Fault> {
  if (target.current !== null && value !== "true") {
    return refuse(
      "InvalidAttributeValue",
      "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
    );
  }
  return value === "true" ? succeed(value) : badValue("FifoQueue");
}

function checkPolicy(value: string): Result<string, Fault> {
  const fits = utf8ByteLength(value) <= SQS_POLICY_BYTES_MAX;
  return fits && parseObject(value) !== null ? succeed(value) : badValue("Policy");
}

function checkRedrivePolicy(
  value: string,
  target: AttributeTarget,
  state: BrokerState,
): Result<string, Fault> {
  const policy = parseRedrivePolicy(value);
  if (!policy.ok) return policy;
  const bad = (reason: string) => invalidValue(value, "RedrivePolicy", reason);
  const ownArn = state.arnOf(target.name);
  if (policy.value.targetArn !== ownArn) {
    const queue = state.queueByArn(policy.value.targetArn);
    if (queue === undefined) return bad("Dead letter target does not exist.");
    if (queue.fifo !== target.fifo) {
      return bad("Dead-letter queue must be same type of queue as the source.");
    }
    if (!allowsSource(queue.settings.redriveAllow, ownArn)) {
      return bad("Queue does not have permission to redrive to the dead-letter queue.");
    }
  }
  return succeed(formatRedrivePolicy(policy.value));
}

/** The value to store, empty if it removes the attribute; or the refusal. */
export function readAttribute(
  state: BrokerState,
  target: AttributeTarget,
  name: string,
  value: string,
): Result<string, Fault> {
  const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
  if (check === undefined || (!target.fifo && UNKNOWN_ON_STANDARD.has(name))) {
    return refuse("InvalidAttributeName", `Unknown Attribute ${name}.`);
  }
  if (!target.fifo && FIFO_ONLY.has(name)) {
    const text = `You can specify the ${name} only when FifoQueue is set to true.`;
    return refuse("InvalidAttributeName", text);
  }
  if (value === "" && REMOVABLE.has(name)) return succeed("");
  const read = check(value, target, state);
  return read.ok && hasInvalidXmlCharacter(read.value) ? badValue(name) : read; // A4
}

/** The attributes of the queue after `given` is set, or the refusal. */
export function mergeAttributes(
  state: BrokerState,
  target: AttributeTarget,
  given: Readonly<Record<string, string>>,
): Result<Record<string, string>, Fault> {
  const merged: Record<string, string> = { ...target.current };
  for (const [name, value] of Object.entries(given)) {
    const read = readAttribute(state, target, name, value);
    if (!read.ok) return read;
    if (value === "" && REMOVABLE.has(name)) delete merged[name];
    else merged[name] = read.value;
  }
  return checkTogether(given, merged);
}

/** Checks that need all attributes. */
function checkTogether(
  given: Readonly<Record<string, string>>,
  merged: Record<string, string>,
): Result<Record<string, string>, Fault> {
  const scope = merged.DeduplicationScope ?? "queue";
  if (merged.FifoThroughputLimit === "perMessageGroupId" && scope !== "messageGroup") {
    return refuse(
      "InvalidAttributeValue",
      "You must set DeduplicationScope to messageGroup to set FifoThroughputLimit to " +
        "perMessageGroupId.",
    );
  }
  if (given.KmsMasterKeyId) {
    if (given.SqsManagedSseEnabled === "true") {
      return refuse("InvalidAttributeName", TWO_ENCRYPTIONS);
    }
    merged.SqsManagedSseEnabled = "false";
  } else if (given.SqsManagedSseEnabled === "true") {
    delete merged.KmsMasterKeyId;
  }
  for (const name of Object.keys(merged)) if (isForgotten(merged, name)) delete merged[name];
  return succeed(merged);
}

/** Without a key, AWS checks the reuse period and does not store it. */
export function isForgotten(attributes: Readonly<Record<string, string>>, name: string): boolean {
  return name === "KmsDataKeyReusePeriodSeconds" && attributes.KmsMasterKeyId === undefined;
}
