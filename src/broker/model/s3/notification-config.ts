// Notification configuration: which events of a bucket go where, and what S3 refuses.
//   N1. Two rules for the same event must never match the same key: S3 refuses them when they are
//       set.
//   N2. A target that does not exist, or is a FIFO queue or topic, is refused when it is set; so is
//       a queue whose policy denies S3, if policies are enforced.

import { allowsService } from "../../../core/access/access-policy.ts";
import type { BrokerState } from "../broker-state.ts";
import type { QueueState } from "../sqs/queue.ts";
import { bucketArn } from "./event-message.ts";
import { isTopic } from "./publish-event.ts";
import { type S3Refusal, s3Refuse } from "./s3-fault.ts";

export type TargetKind = "queue" | "topic" | "function";

export interface KeyFilterRule {
  readonly name: "Prefix" | "Suffix";
  readonly value: string;
}

export interface NotificationTarget {
  readonly kind: TargetKind;
  readonly id: string;
  readonly arn: string;
  /** With the prefix "s3:", and optionally a star at the end. */
  readonly events: readonly string[];
  readonly rules: readonly KeyFilterRule[];
}

export interface NotificationConfig {
  readonly targets: readonly NotificationTarget[];
  readonly eventBridge: boolean;
}

export const NO_NOTIFICATION: NotificationConfig = { targets: [], eventBridge: false };

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  "s3:ObjectCreated": ["*", "Put", "Post", "Copy", "CompleteMultipartUpload"],
  "s3:ObjectRemoved": ["*", "Delete", "DeleteMarkerCreated"],
  "s3:ObjectRestore": ["*", "Post", "Completed", "Delete"],
  "s3:ObjectTagging": ["*", "Put", "Delete"],
  "s3:ObjectAnnotation": ["*", "Put", "Delete"],
  "s3:ObjectAcl": ["Put"],
  "s3:ObjectRetention": ["Put"],
  "s3:LifecycleExpiration": ["*", "Delete", "DeleteMarkerCreated"],
  "s3:Replication": [
    "*",
    "OperationFailedReplication",
    "OperationMissedThreshold",
    "OperationNotTracked",
    "OperationReplicatedAfterThreshold",
  ],
};

const EVENTS: ReadonlySet<string> = new Set([
  ...Object.entries(FAMILIES).flatMap(([family, kinds]) =>
    kinds.map((kind) => `${family}:${kind}`),
  ),
  "s3:LifecycleTransition",
  "s3:IntelligentTiering",
  "s3:ReducedRedundancyLostObject",
]);

const ARGUMENTS = { queue: "Queue", topic: "Topic", function: "CloudFunction" } as const;
const SERVICES = { queue: "sqs", topic: "sns", function: "lambda" } as const;
const MISSING = {
  queue: "The destination queue does not exist",
  topic: "The destination topic does not exist",
  function: "The destination function does not exist",
} as const;
const NOT_ALLOWED =
  "Permissions on the destination queue do not allow S3 to publish notifications from this bucket";
const UNVALIDATED = "Unable to validate the following destination configurations";

/** The first refusal of S3, or null. `validate` also checks whether the targets exist. */
export function checkConfig(
  state: BrokerState,
  bucket: string,
  config: NotificationConfig,
  validate: boolean,
): S3Refusal | null {
  for (const target of config.targets) {
    const refused = checkTarget(target);
    if (refused !== null) return refused;
  }
  const overlapping = checkOverlaps(config.targets);
  if (overlapping !== null) return overlapping;
  return validate ? checkDestinations(state, bucket, config.targets) : null;
}

function checkTarget(target: NotificationTarget): S3Refusal | null {
  const unknown = target.events.find((event) => !EVENTS.has(event));
  if (unknown !== undefined) {
    const fields = { ArgumentName: "Event", ArgumentValue: unknown };
    return s3Refuse("InvalidArgument", "The event is not supported for notifications", fields);
  }
  for (const name of ["Prefix", "Suffix"] as const) {
    if (target.rules.filter((rule) => rule.name === name).length > 1) {
      const what = name.toLowerCase();
      return s3Refuse("InvalidArgument", `Cannot specify more than one ${what} rule in a filter.`);
    }
  }
  const pattern = new RegExp(`^arn:aws[a-z-]*:${SERVICES[target.kind]}:[a-z0-9-]*:\\d*:.+$`);
  if (pattern.test(target.arn)) return checkFifo(target);
  const fields = { ArgumentName: ARGUMENTS[target.kind], ArgumentValue: target.arn };
  return s3Refuse("InvalidArgument", "The ARN could not be parsed", fields);
}

function checkFifo({ kind, arn }: NotificationTarget): S3Refusal | null {
  if (kind === "function" || !arn.endsWith(".fifo")) return null;
  const service = kind === "queue" ? "SQS queues" : "SNS topics";
  const fields = { ArgumentName: ARGUMENTS[kind], ArgumentValue: arn };
  return s3Refuse("InvalidArgument", `FIFO ${service} are not supported.`, fields); // N2
}

function checkDestinations(
  state: BrokerState,
  bucket: string,
  targets: readonly NotificationTarget[],
): S3Refusal | null {
  const fields: Record<string, string> = {};
  let missing = 0;
  for (const target of targets) {
    const trouble = troubleWith(state, bucket, target);
    if (trouble === null) continue;
    missing += 1;
    fields[`ArgumentName${missing}`] = target.arn;
    fields[`ArgumentValue${missing}`] = trouble;
  }
  return missing === 0 ? null : s3Refuse("InvalidArgument", UNVALIDATED, fields); // N2
}

function troubleWith(state: BrokerState, bucket: string, target: NotificationTarget) {
  const { kind, arn } = target;
  if (kind === "topic") return isTopic(state, arn) ? null : MISSING.topic;
  const queue = kind === "queue" ? state.queueByArn(arn) : undefined;
  if (queue === undefined) return MISSING[kind];
  return mayNotify(state, bucket, queue) ? null : NOT_ALLOWED;
}

/** Whether the queue's policy allows S3; without enforcement every queue does. */
export function mayNotify(state: BrokerState, bucket: string, queue: QueueState): boolean {
  if (state.identity.enforcePolicies !== true) return true;
  return allowsService(queue.record.attributes.Policy, {
    service: "s3.amazonaws.com",
    action: "sqs:SendMessage",
    resource: state.arnOf(queue.record.name),
    sourceArn: bucketArn(bucket),
    sourceAccount: state.identity.account,
  });
}

function checkOverlaps(targets: readonly NotificationTarget[]): S3Refusal | null {
  for (const [index, a] of targets.entries()) {
    for (const b of targets.slice(index + 1)) {
      if (!a.events.some((event) => b.events.some((other) => eventsMeet(event, other)))) continue;
      if (!filtersMeet(a, b)) continue;
      const plain = a.rules.length === 0 && b.rules.length === 0;
      return s3Refuse("InvalidArgument", plain ? SHARED_EVENT : AMBIGUOUS); // N1
    }
  }
  return null;
}

const SHARED_EVENT =
  "Configurations overlap. Configurations on the same bucket cannot share a common event type.";
const AMBIGUOUS =
  "Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the " +
  "prefixes are overlapping for the same event type.";

function eventsMeet(a: string, b: string): boolean {
  if (a === b) return true;
  return fitsEvent(a, b) || fitsEvent(b, a);
}

/** Whether `pattern`, which may end with a star, covers `event`. */
export function fitsEvent(pattern: string, event: string): boolean {
  return pattern.endsWith("*") ? event.startsWith(pattern.slice(0, -1)) : pattern === event;
}

function filtersMeet(a: NotificationTarget, b: NotificationTarget): boolean {
  const [prefixA, prefixB] = [ruleOf(a, "Prefix"), ruleOf(b, "Prefix")];
  const [suffixA, suffixB] = [ruleOf(a, "Suffix"), ruleOf(b, "Suffix")];
  const prefixesMeet = prefixA.startsWith(prefixB) || prefixB.startsWith(prefixA);
  const suffixesMeet = suffixA.endsWith(suffixB) || suffixB.endsWith(suffixA);
  return prefixesMeet && suffixesMeet;
}

/** Whether a target wants the events of a key. */
export function fitsKey(target: NotificationTarget, key: string): boolean {
  return key.startsWith(ruleOf(target, "Prefix")) && key.endsWith(ruleOf(target, "Suffix"));
}

/**
 * The value of a rule, empty if there is none. Special characters may be percent-encoded; the
 * decoded value matches the key. A value that cannot be decoded stands for itself.
 */
function ruleOf(target: NotificationTarget, name: KeyFilterRule["name"]): string {
  const value = target.rules.find((rule) => rule.name === name)?.value ?? "";
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
