// Read live: the settings of a pipeline's resources on AWS, or on an endpoint that is compatible.
//   L1. Only reads; a resource that does not exist is null, and any other refusal is an error.
//   L2. The embedded cloud has no DynamoDB: tables are read only from AWS or an endpoint of theirs.

import type { DynamoDBClient, KeySchemaElement } from "@aws-sdk/client-dynamodb";
import type { S3Client } from "@aws-sdk/client-s3";
import type { SNSClient } from "@aws-sdk/client-sns";
import type { SQSClient } from "@aws-sdk/client-sqs";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import type {
  LiveAttributes,
  LiveBucket,
  LiveInfra,
  LiveTable,
  LiveTopic,
} from "../../infra/infra-diff.ts";
import type { InfraPlan } from "../../infra/infra-plan.ts";
import { type AwsService, clientOptions } from "../../run/open/find-server.ts";

export interface LiveOptions {
  /** Endpoint of SQS, SNS and S3. Default: the variables of the AWS SDK, or AWS. */
  readonly endpoint?: string | undefined;
  /** Endpoint of DynamoDB. Default: the variables of the AWS SDK, or AWS; null reads no tables. */
  readonly dynamoEndpoint?: string | null | undefined;
  readonly region?: string | undefined;
}

const PACKAGES =
  "@aws-sdk/client-sqs @aws-sdk/client-sns @aws-sdk/client-s3 @aws-sdk/client-dynamodb";

/** Reads everything that the plan names. */
export async function readLive(plan: InfraPlan, options: LiveOptions): Promise<LiveInfra> {
  const sdk = await loadSdk();
  const config = (service: AwsService) => clientConfig(service, options);
  const s3Config = config("S3");
  const sqs = new sdk.SQSClient(config("SQS"));
  const sns = new sdk.SNSClient(config("SNS"));
  const s3 = new sdk.S3Client({ ...s3Config, forcePathStyle: "endpoint" in s3Config });
  const dynamo = new sdk.DynamoDBClient(config("DYNAMODB"));
  const withTables = options.dynamoEndpoint !== null; // L2
  const table = (name: string | null) =>
    name === null || !withTables ? null : readTable(sdk, dynamo, name);
  const bucket = (name: string | null) => (name === null ? null : readBucket(sdk, s3, name));
  try {
    const queue = await readQueue(sdk, sqs, plan.queue);
    const deadLetterQueue = await readQueue(sdk, sqs, plan.deadLetterQueue);
    const late = plan.lateQueue;
    const arn = topicArn(plan.topic, queue ?? deadLetterQueue);
    return {
      queue,
      deadLetterQueue,
      lateQueue: late === null ? null : await readQueue(sdk, sqs, late),
      topic: arn === null ? null : await readTopic(sdk, sns, arn, queue),
      bucket: await bucket(plan.bucket?.name ?? null),
      claimCheckBucket: await bucket(plan.claimCheckBucket),
      ledgerTable: await table(plan.ledgerTable),
      outboxTable: await table(plan.outboxTable),
    };
  } finally {
    for (const client of [sqs, sns, s3, dynamo]) client.destroy();
  }
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

async function loadSdk() {
  try {
    const [sqs, sns, s3, dynamo] = await Promise.all([
      import("@aws-sdk/client-sqs"),
      import("@aws-sdk/client-sns"),
      import("@aws-sdk/client-s3"),
      import("@aws-sdk/client-dynamodb"),
    ]);
    return { ...sqs, ...sns, ...s3, ...dynamo };
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `infra diff needs the AWS SDK: npm install ${PACKAGES}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}

/** Endpoint, region and credentials of a client. */
export function clientConfig(service: AwsService, options: LiveOptions) {
  const { endpoint: all, dynamoEndpoint, region } = options;
  const endpoint = service === "DYNAMODB" ? (dynamoEndpoint ?? undefined) : all;
  return clientOptions(service, { endpoint, region, cloud: null }); // F3 of find-server.ts
}

interface SdkFailure {
  readonly name?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** What the AWS SDK lacks to make any call at all; null if it is something else. */
function missingSetting(name: string, reason: string): string | null {
  if (name === "CredentialsProviderError") {
    const variables = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
    return `the AWS SDK finds no credentials (${reason}); set AWS_PROFILE, or ${variables}`;
  }
  if (!/^Region is missing|region=""/.test(reason)) return null;
  return "the AWS SDK finds no region; set AWS_REGION, or name a region";
}

/** The result of a call; null if what it asks about does not exist (L1). */
export async function unlessMissing<T>(
  what: string,
  missing: readonly string[],
  call: () => Promise<T>,
): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TidegateError) throw error;
    const { name = "", $metadata } = error as SdkFailure;
    if (missing.includes(name)) return null;
    const setting = missingSetting(name, reasonOf(error));
    if (setting !== null) throw new TidegateError("TG_CONFIG_INVALID", setting, { cause: error });
    const isAnswered = $metadata?.httpStatusCode !== undefined;
    const message = `cannot read ${what}: ${name}: ${reasonOf(error)}`;
    const code = isAnswered ? "TG_QUEUE_REFUSED" : "TG_QUEUE_UNAVAILABLE";
    throw new TidegateError(code, message, { cause: error });
  }
}

async function readQueue(sdk: Sdk, sqs: SQSClient, name: string): Promise<LiveAttributes | null> {
  const missing = ["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"];
  return unlessMissing(`the queue ${name}`, missing, async () => {
    const { QueueUrl } = await sqs.send(new sdk.GetQueueUrlCommand({ QueueName: name }));
    const command = new sdk.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] });
    const { Attributes: attributes = {} } = await sqs.send(command);
    return { arn: attributes.QueueArn ?? "", attributes };
  });
}

/** A topic of the queue's account and region; null without either. */
function topicArn(name: string | null, queue: LiveAttributes | null): string | null {
  if (name === null || queue === null) return null;
  const [, partition, , region, account] = queue.arn.split(":");
  return `arn:${partition}:sns:${region}:${account}:${name}`;
}

async function readTopic(
  sdk: Sdk,
  sns: SNSClient,
  arn: string,
  queue: LiveAttributes | null,
): Promise<LiveTopic | null> {
  return unlessMissing(`the topic ${arn}`, ["NotFoundException"], async () => {
    const command = new sdk.GetTopicAttributesCommand({ TopicArn: arn });
    const { Attributes: attributes = {} } = await sns.send(command);
    const subscribers: string[] = [];
    let subscription: LiveTopic["subscription"] = {};
    const pages = sdk.paginateListSubscriptionsByTopic({ client: sns }, { TopicArn: arn });
    for await (const { Subscriptions = [] } of pages) {
      subscribers.push(...Subscriptions.map(({ Endpoint = "" }) => Endpoint));
      const own = Subscriptions.find(({ Endpoint }) => Endpoint === queue?.arn);
      if (own === undefined) continue;
      const { SubscriptionArn } = own;
      const answer = await sns.send(new sdk.GetSubscriptionAttributesCommand({ SubscriptionArn }));
      subscription = answer.Attributes ?? {};
    }
    return { arn, attributes, subscribers, subscription };
  });
}

async function readBucket(sdk: Sdk, s3: S3Client, name: string): Promise<LiveBucket | null> {
  const what = `the bucket ${name}`;
  const Bucket = name;
  return unlessMissing(what, ["NoSuchBucket"], async () => {
    const { Status } = await s3.send(new sdk.GetBucketVersioningCommand({ Bucket }));
    const notification = await s3.send(
      new sdk.GetBucketNotificationConfigurationCommand({ Bucket }),
    );
    const policy = await unlessMissing(what, ["NoSuchBucketPolicy"], () =>
      s3.send(new sdk.GetBucketPolicyCommand({ Bucket })),
    );
    const block = await unlessMissing(what, ["NoSuchPublicAccessBlockConfiguration"], () =>
      s3.send(new sdk.GetPublicAccessBlockCommand({ Bucket })),
    );
    const encryption = await unlessMissing(
      what,
      ["ServerSideEncryptionConfigurationNotFoundError"],
      () => s3.send(new sdk.GetBucketEncryptionCommand({ Bucket })),
    );
    const ownership = await unlessMissing(what, ["OwnershipControlsNotFoundError"], () =>
      s3.send(new sdk.GetBucketOwnershipControlsCommand({ Bucket })),
    );
    const [sse] = encryption?.ServerSideEncryptionConfiguration?.Rules ?? [];
    const flags = Object.values(block?.PublicAccessBlockConfiguration ?? {});
    const { TopicConfigurations = [], QueueConfigurations = [] } = notification;
    return {
      versioned: Status === "Enabled",
      publicAccessBlocked: flags.length === PUBLIC_ACCESS_FLAGS && flags.every(Boolean),
      policy: policy?.Policy,
      encryption: sse?.ApplyServerSideEncryptionByDefault?.SSEAlgorithm ?? "AES256", // S3's own.
      ownership: ownership?.OwnershipControls?.Rules?.[0]?.ObjectOwnership,
      notifications: [
        ...TopicConfigurations.map(({ TopicArn, ...rest }) => notificationOf(TopicArn, rest)),
        ...QueueConfigurations.map(({ QueueArn, ...rest }) => notificationOf(QueueArn, rest)),
      ],
    };
  });
}

const PUBLIC_ACCESS_FLAGS = 4;

interface TargetConfiguration {
  readonly Events?: readonly string[] | undefined;
  readonly Filter?:
    | {
        readonly Key?:
          | {
              readonly FilterRules?:
                | readonly {
                    readonly Name?: string | undefined;
                    readonly Value?: string | undefined;
                  }[]
                | undefined;
            }
          | undefined;
      }
    | undefined;
}

function notificationOf(targetArn: string | undefined, { Events, Filter }: TargetConfiguration) {
  const ruleOf = (name: string) =>
    Filter?.Key?.FilterRules?.find(({ Name }) => Name?.toLowerCase() === name)?.Value ?? "";
  return {
    targetArn: targetArn ?? "",
    events: [...(Events ?? [])],
    prefix: ruleOf("prefix"),
    suffix: ruleOf("suffix"),
  };
}

async function readTable(
  sdk: Sdk,
  dynamo: DynamoDBClient,
  name: string,
): Promise<LiveTable | null> {
  const what = `the table ${name}`;
  const TableName = name;
  return unlessMissing(what, ["ResourceNotFoundException"], async () => {
    const { Table } = await dynamo.send(new sdk.DescribeTableCommand({ TableName }));
    const ttl = await dynamo.send(new sdk.DescribeTimeToLiveCommand({ TableName }));
    const backups = await unlessMissing(what, ["UnknownOperationException"], () =>
      dynamo.send(new sdk.DescribeContinuousBackupsCommand({ TableName })),
    );
    const { TimeToLiveStatus: status, AttributeName } = ttl.TimeToLiveDescription ?? {};
    const recovery = backups?.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
    return {
      keys: keysOf(Table?.KeySchema),
      indexes: Object.fromEntries(
        (Table?.GlobalSecondaryIndexes ?? []).map((index) => [
          index.IndexName ?? "",
          keysOf(index.KeySchema),
        ]),
      ),
      ttlAttribute: status === "ENABLED" || status === "ENABLING" ? (AttributeName ?? null) : null,
      backedUp: backups === null ? null : recovery?.PointInTimeRecoveryStatus === "ENABLED",
    };
  });
}

function keysOf(schema: readonly KeySchemaElement[] = []): string[] {
  return schema.map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`);
}
