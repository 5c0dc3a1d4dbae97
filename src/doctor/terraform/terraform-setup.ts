// Terraform setup: the resources of a folder as the doctor's facts. A resource that completes
// another one, such as aws_sqs_queue_policy, is joined with it.

import { SQS_RETENTION_MS_DEFAULT, SQS_VISIBILITY_MS_DEFAULT } from "../../core/limits.ts";
import { seconds } from "../../core/units.ts";
import { redriveAllowanceOf } from "../live/queue-attributes.ts";
import type {
  ObservedAlarm,
  ObservedBucket,
  ObservedKey,
  ObservedNotification,
  ObservedQueue,
  ObservedSubscription,
  Setup,
} from "../setup.ts";
import { EMPTY_SETUP } from "../setup.ts";
import { UNKNOWN } from "../unknown.ts";
import { computeOf, failureArnsOf, mappingsOf, pipeOf } from "./terraform-compute.ts";
import { ResourceReader, textValue, textValues } from "./terraform-facts.ts";
import { inventedUrl, keyArn, type TerraformScope } from "./terraform-scope.ts";
import { isObjectValue, jsonOf, type TerraformValue } from "./terraform-values.ts";

export function terraformSetup(scopes: readonly TerraformScope[]): Setup {
  const read = (...types: readonly string[]) =>
    scopes.flatMap((scope) => types.flatMap((type) => readersOf(scope, type)));
  const alarms = read("aws_cloudwatch_metric_alarm").map(alarmOf);
  return {
    ...EMPTY_SETUP,
    queues: queuesOf(read),
    topics: read("aws_sns_topic").map((topic) => ({
      location: topic.location,
      name: topic.name,
      arn: topicArn(topic.name),
      fifo: topic.raw("fifo_topic") === true,
      kmsKey: topic.text("kms_master_key_id"),
    })),
    subscriptions: read("aws_sns_topic_subscription").map(subscriptionOf),
    buckets: bucketsOf(read),
    notifications: read("aws_s3_bucket_notification").flatMap(notificationsOf),
    keys: keysOf(read),
    grants: read(
      "aws_iam_policy",
      "aws_iam_role_policy",
      "aws_iam_user_policy",
      "aws_iam_group_policy",
    ).flatMap((grant) => {
      const statements = grant.policy();
      return statements == null ? [] : [{ location: grant.location, statements }];
    }),
    alarms,
    dashboards: read("aws_cloudwatch_dashboard").length,
    failureArns: scopes.flatMap(failureArnsOf),
    mappings: mappingsOf(read),
    pipes: read("aws_pipes_pipe").map(pipeOf),
    ...computeOf(read),
  };
}

/** Resources that no other one refers to: each instance is read by itself (T3). */
const INSTANCED = /_alarm$|_policy$|_subscription$/;

function readersOf(scope: TerraformScope, type: string): readonly ResourceReader[] {
  return scope.resources(type).flatMap((each) => {
    const bounds = INSTANCED.test(type) ? scope.instances(each.block.body) : [{}];
    return bounds.map((bound) => new ResourceReader(scope, each, bound));
  });
}

type Read = (...types: readonly string[]) => readonly ResourceReader[];

const queueArn = (name: string) => `arn:aws:sqs:us-east-1:000000000000:${name}`;
const topicArn = (name: string) => `arn:aws:sns:us-east-1:000000000000:${name}`;

/**
 * The resource of `others` that completes the one called `target`. If one of them names a target
 * that is not known, it may be this one: the result is undefined.
 */
function partOf(
  others: readonly ResourceReader[],
  argument: string,
  targets: readonly string[],
): ResourceReader | null | undefined {
  const own = others.find((each) => targets.includes(each.reference(argument)));
  if (own !== undefined) return own;
  return others.some((each) => each.raw(argument) === UNKNOWN) ? undefined : null;
}

function queuesOf(read: Read): readonly ObservedQueue[] {
  const redrives = read("aws_sqs_queue_redrive_policy");
  const allowances = read("aws_sqs_queue_redrive_allow_policy");
  const policies = read("aws_sqs_queue_policy");
  return read("aws_sqs_queue").map((queue) => {
    const { name } = queue;
    const targets = [inventedUrl(name), queueArn(name)];
    const redrive = partOf(redrives, "queue_url", targets);
    const allowance = partOf(allowances, "queue_url", targets);
    const policy = partOf(policies, "queue_url", targets);
    const allowPolicy = (reader: ResourceReader | null | undefined) =>
      redriveAllowanceOf(encodedJson(reader?.raw("redrive_allow_policy")));
    return {
      location: queue.location,
      name,
      arn: queueArn(name),
      fifo: queue.raw("fifo_queue") === true,
      visibilityMs: queue.span("visibility_timeout_seconds", SQS_VISIBILITY_MS_DEFAULT),
      retentionMs: queue.span("message_retention_seconds", SQS_RETENTION_MS_DEFAULT),
      waitMs: queue.span("receive_wait_time_seconds", seconds(0)),
      redrive: firstOf(queue.redrive(), () => redrive?.redrive(), redrive),
      redriveAllow: firstOf(allowPolicy(queue), () => allowPolicy(allowance), allowance),
      kmsKey: queue.text("kms_master_key_id"),
      sqsKey: queue.flag("sqs_managed_sse_enabled", true),
      dedupPerGroup: queue.text("deduplication_scope") === "messageGroup",
      policy: firstOf(queue.policy(), () => policy?.policy(), policy),
    };
  });
}

/** The value of a resource, else that of the part that completes it; undefined if not known. */
function firstOf<T>(
  own: T | null | undefined,
  ofPart: () => T | null | undefined,
  part: ResourceReader | null | undefined,
): T | null | undefined {
  if (own !== null) return own;
  return part === null ? null : ofPart();
}

function encodedJson(value: TerraformValue): TerraformValue {
  return value === undefined || value === null ? null : jsonOf(value);
}

function subscriptionOf(reader: ResourceReader): ObservedSubscription {
  const filter = reader.raw("filter_policy");
  const redrive = reader.redrive();
  return {
    location: reader.location,
    topicArn: reader.reference("topic_arn"),
    protocol: reader.text("protocol") ?? "",
    endpoint: reader.reference("endpoint"),
    filtered: filter === UNKNOWN ? undefined : filter !== undefined && filter !== null,
    deadLetterArn: redrive === undefined ? undefined : (redrive?.deadLetterArn ?? null),
  };
}

function bucketsOf(read: Read): readonly ObservedBucket[] {
  const versionings = read("aws_s3_bucket_versioning");
  const policies = read("aws_s3_bucket_policy");
  return read("aws_s3_bucket").map((bucket) => {
    const { name, location, body } = bucket;
    const arn = `arn:aws:s3:::${name}`;
    const versioning = partOf(versionings, "bucket", [name, arn]);
    const policy = partOf(policies, "bucket", [name, arn]);
    const inline = bucket
      .nested(body, "versioning")
      .some((each) => bucket.attribute(each, "enabled") === true);
    return {
      location,
      name,
      arn,
      versioned: versioning === undefined ? undefined : inline || isVersioned(versioning),
      policy: policy === undefined ? undefined : (policy ?? bucket).policy(),
    };
  });
}

function isVersioned(versioning: ResourceReader | null): boolean {
  if (versioning === null) return false;
  return versioning.nested(versioning.body, "versioning_configuration").some((each) => {
    const status = versioning.attribute(each, "status");
    return status === "Enabled" || status === UNKNOWN;
  });
}

const NOTIFICATION_KINDS = [
  ["queue", "queue", "queue_arn"],
  ["topic", "topic", "topic_arn"],
  ["lambda_function", "function", "lambda_function_arn"],
] as const;

function notificationsOf(reader: ResourceReader): readonly ObservedNotification[] {
  const { body, location } = reader;
  const bucket = reader.reference("bucket");
  const common = { location, bucket, configuration: `${location.file}:${location.line}` };
  return NOTIFICATION_KINDS.flatMap(([block, kind, argument]) =>
    reader.nested(body, block).map((each) => ({
      ...common,
      kind,
      targetArn: textValue(reader.attribute(each, argument), "") ?? "",
      prefix: textValue(reader.attribute(each, "filter_prefix"), "") ?? "",
      suffix: textValue(reader.attribute(each, "filter_suffix"), "") ?? "",
      events: textValues(reader.attribute(each, "events")),
    })),
  );
}

function keysOf(read: Read): readonly ObservedKey[] {
  const aliases = read("aws_kms_alias");
  const policies = read("aws_kms_key_policy");
  return read("aws_kms_key").map((key) => {
    const id = `${key.path}/${key.name}`;
    const ids = [id, keyArn(id)];
    const own = aliases.filter((alias) => ids.includes(alias.reference("target_key_id")));
    const policy = partOf(policies, "key_id", ids);
    return {
      location: key.location,
      names: [...ids, ...own.map((alias) => alias.reference("name"))],
      policy: firstOf(key.policy(), () => policy?.policy(), policy),
    };
  });
}

function alarmOf(reader: ResourceReader): ObservedAlarm {
  const { body, location } = reader;
  const metrics = reader
    .nested(body, "metric_query")
    .flatMap((each) => reader.nested(each, "metric"));
  const [metric = body] = metrics;
  const dimensions = reader.attribute(metric, "dimensions");
  const actions = reader.raw("alarm_actions");
  const description = reader.text("alarm_description");
  return {
    location,
    namespace: textValue(reader.attribute(metric, "namespace"), null),
    metric: textValue(reader.attribute(metric, "metric_name"), null),
    queueName: isObjectValue(dimensions)
      ? textValue(dimensions.QueueName, null)
      : textValue(dimensions, null),
    operator: reader.text("comparison_operator"),
    threshold: reader.number("threshold", null),
    hasRunbook: description === undefined ? undefined : description?.includes("http") === true,
    hasActions:
      actions === UNKNOWN ? undefined : Array.isArray(actions) ? actions.length > 0 : false,
  };
}
