// Create resources: the API calls that evaluated Terraform resources describe, made on the embedded
// cloud and on DynamoDB Local.
//   C1. The order is that of Terraform: what others refer to comes first, notifications last.
//   C2. A type without a call here is an error, unless the embedded cloud has no such service.

import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  PutItemCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import {
  CreateBucketCommand,
  PutBucketEncryptionCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketNotificationConfigurationCommand,
  PutBucketOwnershipControlsCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutPublicAccessBlockCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import {
  CreateTopicCommand,
  SetTopicAttributesCommand,
  SNSClient,
  SubscribeCommand,
} from "@aws-sdk/client-sns";
import { CreateQueueCommand, SetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { EvaluatedResource } from "./evaluate-terraform.ts";

// biome-ignore lint/suspicious/noExplicitAny: values of resources of every type.
type Values = any;

interface Clients {
  readonly sqs: SQSClient;
  readonly sns: SNSClient;
  readonly s3: S3Client;
  readonly dynamo: DynamoDBClient;
  /** URL of a queue on the embedded cloud, by the URL that Terraform computed. */
  readonly url: (id: string) => string;
}

const LOCAL = {
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
};

/** Services that the embedded cloud does not have (C2). */
const WITHOUT_SERVICE = /^aws_(iam|kms|cloudwatch|ecs|lambda)_/;

const queueAttributes = (values: Values) =>
  textValues({
    FifoQueue: values.fifo_queue ? "true" : null,
    VisibilityTimeout: values.visibility_timeout_seconds,
    MessageRetentionPeriod: values.message_retention_seconds,
    ReceiveMessageWaitTimeSeconds: values.receive_wait_time_seconds,
    SqsManagedSseEnabled: values.sqs_managed_sse_enabled,
    KmsMasterKeyId: values.kms_master_key_id,
    KmsDataKeyReusePeriodSeconds: values.kms_data_key_reuse_period_seconds,
    RedrivePolicy: values.redrive_policy,
  });

const notificationOf = (target: "TopicArn" | "QueueArn", blocks: Values[] = []) =>
  blocks.map((block) => ({
    Id: block.id,
    [target]: block.topic_arn ?? block.queue_arn,
    Events: block.events,
    Filter: { Key: { FilterRules: [{ Name: "prefix" as const, Value: block.filter_prefix }] } },
  }));

/** By type, in the order of creation (C1). */
const STEPS: Readonly<Record<string, (clients: Clients, values: Values) => Promise<unknown>>> = {
  aws_s3_bucket: ({ s3 }, { bucket: Bucket }) => s3.send(new CreateBucketCommand({ Bucket })),
  aws_s3_bucket_versioning: ({ s3 }, { bucket: Bucket, versioning_configuration: [given] }) =>
    s3.send(
      new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: given.status } }),
    ),
  aws_s3_bucket_public_access_block: ({ s3 }, values) =>
    s3.send(
      new PutPublicAccessBlockCommand({
        Bucket: values.bucket,
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: values.block_public_acls,
          BlockPublicPolicy: values.block_public_policy,
          IgnorePublicAcls: values.ignore_public_acls,
          RestrictPublicBuckets: values.restrict_public_buckets,
        },
      }),
    ),
  aws_s3_bucket_ownership_controls: ({ s3 }, { bucket: Bucket, rule: [rule] }) => {
    const Rules = [{ ObjectOwnership: rule.object_ownership }];
    return s3.send(new PutBucketOwnershipControlsCommand({ Bucket, OwnershipControls: { Rules } }));
  },
  aws_s3_bucket_server_side_encryption_configuration: (
    { s3 },
    { bucket: Bucket, rule: [rule] },
  ) => {
    const [{ sse_algorithm: SSEAlgorithm }] = rule.apply_server_side_encryption_by_default;
    const Rules = [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm } }];
    return s3.send(
      new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration: { Rules } }),
    );
  },
  aws_s3_bucket_lifecycle_configuration: ({ s3 }, { bucket: Bucket, rule: [rule] }) => {
    const [upload] = rule.abort_incomplete_multipart_upload;
    const [noncurrent] = rule.noncurrent_version_expiration;
    const Rules = [
      {
        ID: rule.id,
        Status: rule.status,
        Filter: { Prefix: "" },
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: upload.days_after_initiation },
        NoncurrentVersionExpiration: { NoncurrentDays: noncurrent.noncurrent_days },
      },
    ];
    return s3.send(
      new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }),
    );
  },
  aws_s3_bucket_policy: ({ s3 }, { bucket: Bucket, policy: Policy }) =>
    s3.send(new PutBucketPolicyCommand({ Bucket, Policy })),
  aws_sqs_queue: ({ sqs }, values) =>
    sqs.send(
      new CreateQueueCommand({ QueueName: values.name, Attributes: queueAttributes(values) }),
    ),
  aws_sqs_queue_redrive_allow_policy: ({ sqs, url }, { queue_url, redrive_allow_policy }) =>
    sqs.send(
      new SetQueueAttributesCommand({
        QueueUrl: url(queue_url),
        Attributes: { RedriveAllowPolicy: redrive_allow_policy },
      }),
    ),
  aws_sqs_queue_policy: ({ sqs, url }, { queue_url, policy: Policy }) =>
    sqs.send(new SetQueueAttributesCommand({ QueueUrl: url(queue_url), Attributes: { Policy } })),
  aws_sns_topic: ({ sns }, values) => {
    const Attributes = textValues({
      FifoTopic: values.fifo_topic ? "true" : null,
      KmsMasterKeyId: values.kms_master_key_id,
    });
    return sns.send(new CreateTopicCommand({ Name: values.name, Attributes }));
  },
  aws_sns_topic_policy: ({ sns }, { arn: TopicArn, policy: AttributeValue }) =>
    sns.send(new SetTopicAttributesCommand({ TopicArn, AttributeName: "Policy", AttributeValue })),
  aws_sns_topic_subscription: ({ sns }, values) =>
    sns.send(
      new SubscribeCommand({
        TopicArn: values.topic_arn,
        Protocol: values.protocol,
        Endpoint: values.endpoint,
        Attributes: textValues({
          RawMessageDelivery: values.raw_message_delivery,
          RedrivePolicy: values.redrive_policy,
        }),
      }),
    ),
  aws_dynamodb_table: async ({ dynamo }, values) => {
    await dynamo.send(new CreateTableCommand(tableOf(values)));
    const [ttl] = values.ttl ?? [];
    if (ttl === undefined) return;
    const given = { AttributeName: ttl.attribute_name, Enabled: ttl.enabled };
    await dynamo.send(
      new UpdateTimeToLiveCommand({ TableName: values.name, TimeToLiveSpecification: given }),
    );
  },
  aws_dynamodb_table_item: ({ dynamo }, { table_name: TableName, item }) =>
    dynamo.send(new PutItemCommand({ TableName, Item: JSON.parse(item) })),
  aws_s3_bucket_notification: ({ s3 }, { bucket: Bucket, topic, queue }) =>
    s3.send(
      new PutBucketNotificationConfigurationCommand({
        Bucket,
        NotificationConfiguration: {
          TopicConfigurations: notificationOf("TopicArn", topic) as never,
          QueueConfigurations: notificationOf("QueueArn", queue) as never,
        },
      }),
    ),
};

function tableOf(values: Values): CreateTableCommandInput {
  const keys = (hash: string, range?: string | null) => [
    { AttributeName: hash, KeyType: "HASH" as const },
    ...(range ? [{ AttributeName: range, KeyType: "RANGE" as const }] : []),
  ];
  const indexes = (values.global_secondary_index ?? []).map((index: Values) => ({
    IndexName: index.name,
    KeySchema: keys(index.hash_key, index.range_key),
    Projection: { ProjectionType: index.projection_type },
  }));
  return {
    TableName: values.name,
    BillingMode: values.billing_mode,
    AttributeDefinitions: values.attribute.map(({ name, type }: Values) => ({
      AttributeName: name,
      AttributeType: type,
    })),
    KeySchema: keys(values.hash_key, values.range_key),
    ...(indexes.length > 0 && { GlobalSecondaryIndexes: indexes }),
  };
}

/** Attributes that are set, as text. */
function textValues(given: Readonly<Record<string, unknown>>): Record<string, string> {
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/** Makes the calls of all resources. */
export async function createResources(
  resources: readonly EvaluatedResource[],
  endpoints: { readonly cloud: string; readonly dynamodb: string },
): Promise<void> {
  const config = { ...LOCAL, endpoint: endpoints.cloud };
  const clients: Clients = {
    sqs: new SQSClient(config),
    sns: new SNSClient(config),
    s3: new S3Client({ ...config, forcePathStyle: true }),
    dynamo: new DynamoDBClient({ ...LOCAL, endpoint: endpoints.dynamodb }),
    url: (id) => id.replace(/^http:\/\/[^/]+/, endpoints.cloud),
  };
  const others = resources.filter(({ type }) => !(type in STEPS) && !WITHOUT_SERVICE.test(type));
  if (others.length > 0) throw new Error(`no call for ${others.map(({ type }) => type)}`); // C2
  for (const [type, step] of Object.entries(STEPS)) {
    const matches = resources.filter((each) => each.type === type);
    // A queue comes after the dead-letter queue that it names.
    const ordered = matches.toSorted((a, b) => a.name.localeCompare(b.name)); // C1
    for (const { values } of ordered) await step(clients, values);
  }
  for (const client of [clients.sqs, clients.sns, clients.s3, clients.dynamo]) client.destroy();
}
