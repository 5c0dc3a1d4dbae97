// Infra diff: compares what runs with the plan of a pipeline.
//   D1. Pure: the caller reads AWS, or the embedded cloud, into a LiveInfra.
//   D2. A difference names the resource, the setting, both values, and nothing that is equal.
//   D3. Policies are compared by what they allow, not by their text: another statement that allows
//       the same does not count.

import { allowsService, decideAccess } from "../core/access/access-policy.ts";
import { SQS_RECEIVE_WAIT_MS_MAX, SQS_RETENTION_MS_MAX } from "../core/limits.ts";
import type { InfraPlan } from "./infra-plan.ts";
import { tableDifferences } from "./table-diff.ts";

/** Attributes of a queue or a topic, by the names of AWS. */
export interface LiveAttributes {
  readonly arn: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

export interface LiveTopic extends LiveAttributes {
  /** ARNs of subscribed queues. */
  readonly subscribers: readonly string[];
  /** Attributes of the queue's subscription, by the names of AWS. */
  readonly subscription: LiveAttributes["attributes"];
}

export interface LiveBucket {
  readonly versioned: boolean;
  readonly publicAccessBlocked: boolean;
  /** `AES256`, `aws:kms`. */
  readonly encryption: string;
  /** Undefined if the bucket has no ownership controls. */
  readonly ownership: string | undefined;
  readonly policy: string | undefined;
  readonly notifications: readonly {
    readonly targetArn: string;
    readonly events: readonly string[];
    readonly prefix: string;
    readonly suffix: string;
  }[];
}

export interface LiveTable {
  /** `pk HASH`, in order. */
  readonly keys: readonly string[];
  /** By name: its keys, in order. */
  readonly indexes: Readonly<Record<string, readonly string[]>>;
  readonly ttlAttribute: string | null;
  /** Null if the service does not say. */
  readonly backedUp: boolean | null;
}

/** Null for what does not exist. */
export interface LiveInfra {
  readonly queue: LiveAttributes | null;
  readonly deadLetterQueue: LiveAttributes | null;
  readonly lateQueue: LiveAttributes | null;
  readonly topic: LiveTopic | null;
  readonly bucket: LiveBucket | null;
  readonly claimCheckBucket: LiveBucket | null;
  readonly ledgerTable: LiveTable | null;
  readonly outboxTable: LiveTable | null;
}

/** A setting that is not as planned, or a resource that does not exist. */
export interface InfraDifference {
  /** `queue orders-events`. */
  readonly resource: string;
  readonly setting: string;
  readonly expected: string;
  readonly actual: string;
}

export type Compare = (setting: string, expected: string, actual: string | undefined) => void;

const MISSING = "missing";
/** The setting of a resource that is not there. */
export const EXISTENCE = "existence";
const EVENTS = ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"];
const QUEUE_RETENTION_SECONDS = 345_600;

/** Everything in which `live` differs from the plan; account-diff.ts compares the rest. */
export function infraDifferences(plan: InfraPlan, live: LiveInfra): InfraDifference[] {
  const differences: InfraDifference[] = [];
  const part = <T>(
    what: string,
    name: string | null,
    actual: T | null,
    check: (actual: T, compare: Compare) => void,
  ) => {
    if (name === null) return;
    const resource = `${what} ${name}`;
    if (actual === null) {
      differences.push({ resource, setting: EXISTENCE, expected: "exists", actual: MISSING });
      return;
    }
    check(actual, (setting, expected, value = MISSING) => {
      if (value === expected) return; // D2
      differences.push({ resource, setting, expected, actual: value });
    });
  };
  part("queue", plan.queue, live.queue, checkQueue(plan, live));
  part(
    "dead-letter queue",
    plan.deadLetterQueue,
    live.deadLetterQueue,
    checkDeadLetters(plan, live),
  );
  part("late queue", plan.lateQueue, live.lateQueue, () => undefined); // Its owner configures it.
  part("topic", plan.topic, live.topic, checkTopic(plan, live));
  part("bucket", plan.bucket?.name ?? null, live.bucket, (bucket, compare) => {
    checkBucket(plan, bucket, plan.bucket?.name ?? "", compare);
    checkNotification(plan, live, bucket, compare);
  });
  part("bucket", plan.claimCheckBucket, live.claimCheckBucket, (bucket, compare) =>
    checkBucket(plan, bucket, plan.claimCheckBucket ?? "", compare),
  );
  part("table", plan.ledgerTable, live.ledgerTable, (table, compare) =>
    tableDifferences("ledger", plan, table, compare),
  );
  part("table", plan.outboxTable, live.outboxTable, (table, compare) =>
    tableDifferences("outbox", { listing: false }, table, compare),
  );
  return differences;
}

function checkQueue(plan: InfraPlan, live: LiveInfra) {
  return ({ arn, attributes }: LiveAttributes, compare: Compare): void => {
    if (plan.queueAccount !== null) compare("account", plan.queueAccount, arn.split(":")[4]);
    compare("VisibilityTimeout", String(plan.visibilitySeconds), attributes.VisibilityTimeout);
    compare(
      "MessageRetentionPeriod",
      String(QUEUE_RETENTION_SECONDS),
      attributes.MessageRetentionPeriod,
    );
    checkPolling(attributes, compare);
    const { deadLetterTargetArn, maxReceiveCount } = parsed(attributes.RedrivePolicy);
    compare("dead-letter queue", plan.deadLetterQueue, nameIn(deadLetterTargetArn));
    compare("maxReceiveCount", String(plan.maxReceiveCount), textOf(maxReceiveCount));
    checkEncryption(plan, attributes, compare);
    checkQueuePolicy(plan, live, { arn, attributes }, compare);
  };
}

function checkDeadLetters(plan: InfraPlan, live: LiveInfra) {
  return ({ arn, attributes }: LiveAttributes, compare: Compare): void => {
    const retention = String(SQS_RETENTION_MS_MAX / 1_000);
    compare("MessageRetentionPeriod", retention, attributes.MessageRetentionPeriod);
    checkPolling(attributes, compare);
    const { redrivePermission, sourceQueueArns } = parsed(attributes.RedriveAllowPolicy);
    compare("redrivePermission", "byQueue", textOf(redrivePermission));
    const sources = Array.isArray(sourceQueueArns)
      ? sourceQueueArns.map(nameIn).join(", ")
      : MISSING;
    compare("queues that may redrive", plan.queue, sources);
    checkEncryption(plan, attributes, compare);
    compare("plain HTTP", "denied", plainHttp(attributes.Policy, "sqs:SendMessage", arn));
    const { topic } = live;
    if (plan.topic === null || topic === null) return;
    const allowed = maySend(attributes.Policy, arn, "sns.amazonaws.com", topic.arn);
    compare("undelivered messages of the topic", "allowed", allowed ? "allowed" : "refused");
  };
}

function checkPolling(attributes: LiveAttributes["attributes"], compare: Compare): void {
  const wait = String(SQS_RECEIVE_WAIT_MS_MAX / 1_000);
  compare("ReceiveMessageWaitTimeSeconds", wait, attributes.ReceiveMessageWaitTimeSeconds);
}

function checkEncryption(
  { kms }: InfraPlan,
  attributes: LiveAttributes["attributes"],
  compare: Compare,
): void {
  const { KmsMasterKeyId: key = "", SqsManagedSseEnabled: managed } = attributes;
  const actual = key === "" ? (managed === "true" ? "SSE-SQS" : "none") : keyKind(key);
  compare("encryption", kms ? "customer key" : "SSE-SQS", actual);
}

/** AWS's own keys exclude S3 and SNS. */
function keyKind(key: string): string {
  return key.includes("alias/aws/") ? `${key}, which S3 and SNS cannot use` : "customer key";
}

function checkQueuePolicy(
  plan: InfraPlan,
  { topic }: LiveInfra,
  { arn, attributes }: LiveAttributes,
  compare: Compare,
): void {
  const { Policy: policy } = attributes;
  compare("plain HTTP", "denied", plainHttp(policy, "sqs:SendMessage", arn));
  const { bucket } = plan;
  if (plan.topic !== null) {
    if (topic === null) return; // Reported as missing.
    const allowed = maySend(policy, arn, "sns.amazonaws.com", topic.arn);
    compare("messages of the topic", "allowed", allowed ? "allowed" : "refused");
    const others = maySend(policy, arn, "sns.amazonaws.com", `${topic.arn}-other`);
    compare("messages of other topics", "refused", others ? "allowed" : "refused");
  } else if (bucket !== null) {
    const source = `arn:${arn.split(":")[1]}:s3:::${bucket.name}`;
    const allowed = maySend(policy, arn, "s3.amazonaws.com", source);
    compare("events of the bucket", "allowed", allowed ? "allowed" : "refused");
    const others = maySend(policy, arn, "s3.amazonaws.com", `${source}-other`);
    compare("events of other buckets", "refused", others ? "allowed" : "refused");
  }
}

/** Whether a service may send to a queue for a topic or bucket of the same account (D3). */
function maySend(
  policy: string | undefined,
  queueArn: string,
  service: string,
  sourceArn: string,
): boolean {
  const sourceAccount = queueArn.split(":")[4] ?? "";
  const action = "sqs:SendMessage";
  return allowsService(policy, { service, action, resource: queueArn, sourceArn, sourceAccount });
}

function plainHttp(policy: string | undefined, action: string, resource: string): string {
  const account = resource.split(":")[4] || "000000000000";
  const principal = { arn: `arn:aws:iam::${account}:user/any` };
  const context = { "aws:securetransport": "false" };
  const verdict = decideAccess(policy, { principal, action, resource, context });
  return verdict === "deny" ? "denied" : "possible";
}

function checkTopic({ queue, deadLetterQueue, kms }: InfraPlan, live: LiveInfra) {
  return ({ arn, attributes, subscribers, subscription }: LiveTopic, compare: Compare): void => {
    const isSubscribed = subscribers.some((endpoint) => endpoint === live.queue?.arn);
    compare("subscriber", queue, isSubscribed ? queue : MISSING);
    if (isSubscribed) {
      compare("raw delivery", "true", subscription.RawMessageDelivery);
      const { deadLetterTargetArn } = parsed(subscription.RedrivePolicy);
      compare("queue of undelivered messages", deadLetterQueue, nameIn(deadLetterTargetArn));
    }
    const { KmsMasterKeyId: key = "" } = attributes;
    if (kms || key !== "") {
      compare("encryption", kms ? "customer key" : "none", key === "" ? "none" : keyKind(key));
    }
    compare("plain HTTP", "denied", plainHttp(attributes.Policy, "sns:Publish", arn));
  };
}

function checkBucket({ kms }: InfraPlan, bucket: LiveBucket, name: string, compare: Compare): void {
  compare("versioning", "Enabled", bucket.versioned ? "Enabled" : "off");
  const blocked = bucket.publicAccessBlocked;
  compare("public access", "blocked", blocked ? "blocked" : "possible");
  compare("encryption", kms ? "aws:kms" : "AES256", bucket.encryption);
  compare("ownership", "BucketOwnerEnforced", bucket.ownership);
  const resource = `arn:aws:s3:::${name}/any`;
  compare("plain HTTP", "denied", plainHttp(bucket.policy, "s3:GetObject", resource));
}

function checkNotification(
  plan: InfraPlan,
  live: LiveInfra,
  { notifications }: LiveBucket,
  compare: Compare,
): void {
  const [what, target] = plan.topic === null ? ["queue", live.queue] : ["topic", live.topic];
  if (target === null) return; // Reported as missing.
  const rules = notifications.filter(({ targetArn }) => targetArn === target.arn);
  compare("events sent to", what, rules.length > 0 ? what : MISSING);
  if (rules.length === 0) return;
  const covers = (event: string) =>
    rules.some(({ events }) => events.some((given) => given === event || given === "s3:*"));
  compare("events", EVENTS.join(", "), EVENTS.filter(covers).join(", ") || MISSING);
  const prefixes = [...new Set(rules.map(({ prefix }) => prefix))].join(", ");
  compare("prefix of events", plan.bucket?.prefix ?? "", prefixes);
  compare("suffix of events", "", [...new Set(rules.map(({ suffix }) => suffix))].join(", "));
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}

function nameIn(arn: unknown): string | undefined {
  return typeof arn === "string" ? arn.split(":").at(-1) : undefined;
}
