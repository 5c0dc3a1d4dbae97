// IAM table: which role may do what to which resource, and why. The module `iam`, the policies in
// JSON and docs/guides/iam.md are made from it.
//   I1. A row exists because a recorded call needs it: test/integration/infra/iam-calls.test.ts
//       fails if a call is not covered, and if a row could be removed.
//   I2. A row whose resources a pipeline does not have is left out of its policies.
//   I3. No action and no resource is a wildcard, except below the prefix of objects, and for the
//       tasks of one cluster and the revisions of one task definition.

/** A role that a person or a process takes on. */
export const IAM_ROLES = ["consumer", "producer", "operator"] as const;
export type IamRole = (typeof IAM_ROLES)[number];

/** A resource of a pipeline, as a policy names it. */
export type IamResource =
  | "queue"
  | "dead-letter-queue"
  | "late-queue"
  | "topic"
  | "target-queue"
  | "target-topic"
  | "bucket"
  | "listed-bucket"
  | "objects"
  | "claim-check-bucket"
  | "claim-checks"
  | "archived-messages"
  | "ledger"
  | "ledger-notes"
  | "ledger-lists"
  | "outbox"
  | "task-definition"
  | "tasks"
  | "any-task"
  | "task-roles"
  | "task-results-bucket"
  | "task-results"
  | "output-buckets"
  | "outputs"
  | "key";

/** What AWS has to find in a request in addition. */
export type IamCondition = "in-the-cluster" | "passed-to-ecs";

export interface IamRow {
  readonly role: IamRole;
  readonly action: string;
  readonly resources: readonly IamResource[];
  readonly why: string;
  /** The same for all rows of the same resources, which become one statement. */
  readonly condition?: IamCondition;
}

/** How the page names a resource. */
export const IAM_RESOURCE_TEXT: Readonly<Record<IamResource, string>> = {
  queue: "the queue",
  "dead-letter-queue": "the dead-letter queue",
  "late-queue": "the queue of `eventTime.late`",
  topic: "the topic",
  "target-queue": "the queue, if producers send to it",
  "target-topic": "the topic, if producers publish to it",
  bucket: "the bucket",
  "listed-bucket": "the bucket, with `--backfill`",
  objects: "the objects below the prefix",
  "claim-check-bucket": "the bucket of claim checks",
  "claim-checks": "the claim checks",
  "archived-messages": "the messages below the prefix of `archive`",
  ledger: "the ledger table",
  "ledger-notes": "the index `notes` of the ledger table",
  "ledger-lists": "the list indexes of the ledger table",
  outbox: "the outbox table",
  "task-definition": "revisions of the task definition, in the cluster only",
  tasks: "the tasks of the cluster",
  "any-task": "`*`, in the cluster only",
  "task-roles": "the roles of the tasks, passed to ECS only",
  "task-results-bucket": "the bucket of task results",
  "task-results": "the task results",
  "output-buckets": "the buckets of `--outputs`",
  outputs: "the objects of `--outputs`",
  key: "the customer key",
};

const BUCKETS = ["bucket", "claim-check-bucket"] as const;
const TABLES = ["ledger", "outbox"] as const;
const DIFF = "`infra diff`";
const QUEUES = ["queue", "dead-letter-queue"] as const;

const CONSUMER: readonly Omit<IamRow, "role">[] = [
  { action: "sqs:GetQueueUrl", resources: QUEUES, why: "finds the queues by name" },
  { action: "sqs:GetQueueAttributes", resources: QUEUES, why: "checks settings and counts" },
  { action: "sqs:ReceiveMessage", resources: ["queue"], why: "receives" },
  { action: "sqs:ChangeMessageVisibility", resources: ["queue"], why: "heartbeats and retries" },
  { action: "sqs:DeleteMessage", resources: ["queue"], why: "acknowledges after the commit" },
  { action: "sqs:SendMessage", resources: ["dead-letter-queue"], why: "sends dead letters" },
  { action: "sqs:GetQueueUrl", resources: ["late-queue"], why: "finds the late queue" },
  { action: "sqs:GetQueueAttributes", resources: ["late-queue"], why: "checks it, and counts" },
  { action: "sqs:SendMessage", resources: ["late-queue"], why: "sends records that are too late" },
  { action: "s3:GetObject", resources: ["objects", "claim-checks"], why: "reads objects" },
  {
    action: "s3:GetObjectVersion",
    resources: ["objects"],
    why: "reads exactly the version in the event",
  },
  {
    action: "s3:GetObjectTagging",
    resources: ["objects"],
    why: "only if `eventTime` reads the tags of an object",
  },
  {
    action: "s3:GetObjectVersionTagging",
    resources: ["objects"],
    why: "the same, for the version in the event",
  },
  {
    action: "s3:ListBucket",
    resources: ["bucket", "claim-check-bucket"],
    why: "without it S3 answers 403 for a missing object, as for a forbidden one",
  },
  {
    action: "s3:ListBucketVersions",
    resources: ["listed-bucket"],
    why: "`backfill` lists objects with their versions",
  },
  {
    action: "s3:PutObject",
    resources: ["archived-messages"],
    why: "keeps messages, so that they can be replayed",
  },
  { action: "dynamodb:GetItem", resources: ["ledger"], why: "looks records up" },
  { action: "dynamodb:BatchGetItem", resources: ["ledger"], why: "looks many records up" },
  { action: "dynamodb:PutItem", resources: ["ledger"], why: "claims and commits" },
  {
    action: "dynamodb:ConditionCheckItem",
    resources: ["ledger"],
    why: "claims an object that a listing found, too",
  },
  { action: "dynamodb:UpdateItem", resources: ["ledger"], why: "renews leases and counts" },
  { action: "dynamodb:DeleteItem", resources: ["ledger"], why: "removes notes that are obsolete" },
  { action: "dynamodb:Query", resources: ["ledger-notes"], why: "counts halted groups" },
  { action: "dynamodb:Query", resources: ["ledger-lists"], why: "finds the oldest open record" },
  {
    action: "ecs:RunTask",
    resources: ["task-definition"],
    why: "`dispatch` starts tasks",
    condition: "in-the-cluster",
  },
  { action: "ecs:TagResource", resources: ["tasks"], why: "marks which attempt owns a task" },
  { action: "ecs:DescribeTasks", resources: ["tasks"], why: "waits for the end of tasks" },
  { action: "ecs:StopTask", resources: ["tasks"], why: "stops a task whose lease is lost" },
  {
    action: "ecs:ListTasks",
    resources: ["any-task"],
    why: "finds tasks that another dispatcher started; ECS authorises it on `*`",
    condition: "in-the-cluster",
  },
  {
    action: "iam:PassRole",
    resources: ["task-roles"],
    why: "gives a task its roles",
    condition: "passed-to-ecs",
  },
  { action: "s3:GetObject", resources: ["task-results"], why: "reads results of tasks" },
  {
    action: "s3:ListBucket",
    resources: ["task-results-bucket"],
    why: "tells a task without a result from a forbidden result",
  },
  {
    action: "s3:PutObject",
    resources: ["outputs"],
    why: "writes manifests, and what handlers emit",
  },
  { action: "s3:GetObject", resources: ["outputs"], why: "looks whether an object was written" },
  {
    action: "s3:ListBucket",
    resources: ["output-buckets"],
    why: "tells an object that is not written yet from a forbidden one",
  },
  { action: "kms:Decrypt", resources: ["key"], why: "SQS, S3 and DynamoDB decrypt for the caller" },
  { action: "kms:GenerateDataKey", resources: ["key"], why: "SQS and S3 encrypt what it writes" },
];

const PRODUCER: readonly Omit<IamRow, "role">[] = [
  { action: "sqs:GetQueueUrl", resources: ["target-queue"], why: "finds the queue by name" },
  { action: "sqs:SendMessage", resources: ["target-queue"], why: "sends" },
  { action: "sns:Publish", resources: ["target-topic"], why: "publishes" },
  { action: "s3:PutObject", resources: ["objects"], why: "uploads the files of the pipeline" },
  {
    action: "s3:PutObject",
    resources: ["claim-checks"],
    why: "stores payloads that are larger than a message",
  },
  { action: "dynamodb:GetItem", resources: ["outbox"], why: "looks events up" },
  {
    action: "dynamodb:PutItem",
    resources: ["outbox"],
    why: "registers events and marks them sent",
  },
  { action: "dynamodb:DeleteItem", resources: ["outbox"], why: "removes events from its lists" },
  { action: "dynamodb:BatchGetItem", resources: ["outbox"], why: "reads the items of a batch" },
  { action: "dynamodb:BatchWriteItem", resources: ["outbox"], why: "writes the items of a batch" },
  { action: "dynamodb:Query", resources: ["outbox"], why: "finds events that were not sent" },
  { action: "dynamodb:Scan", resources: ["outbox"], why: "counts, and purges expired rows" },
  {
    action: "kms:Decrypt",
    resources: ["key"],
    why: "SQS and SNS check the key before they encrypt",
  },
  { action: "kms:GenerateDataKey", resources: ["key"], why: "SQS, SNS and S3 encrypt" },
];

const OPERATOR: readonly Omit<IamRow, "role">[] = [
  { action: "sqs:GetQueueUrl", resources: QUEUES, why: "finds the queues by name" },
  { action: "sqs:GetQueueAttributes", resources: QUEUES, why: "counts, and `infra diff`" },
  { action: "sqs:ReceiveMessage", resources: ["dead-letter-queue"], why: "lists dead letters" },
  {
    action: "sqs:ChangeMessageVisibility",
    resources: QUEUES,
    why: "makes listed and halted messages visible again",
  },
  { action: "sqs:DeleteMessage", resources: ["dead-letter-queue"], why: "redrives and drops" },
  { action: "sqs:SendMessage", resources: ["queue"], why: "redrives" },
  { action: "sqs:GetQueueUrl", resources: ["late-queue"], why: "finds the late queue" },
  { action: "sqs:GetQueueAttributes", resources: ["late-queue"], why: "`watermark`, `infra diff`" },
  { action: "sns:GetTopicAttributes", resources: ["topic"], why: DIFF },
  { action: "sns:ListSubscriptionsByTopic", resources: ["topic"], why: DIFF },
  { action: "sns:GetSubscriptionAttributes", resources: ["topic"], why: DIFF },
  { action: "s3:GetBucketVersioning", resources: BUCKETS, why: DIFF },
  { action: "s3:GetBucketNotification", resources: BUCKETS, why: DIFF },
  { action: "s3:GetBucketPolicy", resources: BUCKETS, why: DIFF },
  { action: "s3:GetBucketPublicAccessBlock", resources: BUCKETS, why: DIFF },
  { action: "s3:GetEncryptionConfiguration", resources: BUCKETS, why: DIFF },
  { action: "s3:GetBucketOwnershipControls", resources: BUCKETS, why: DIFF },
  {
    action: "s3:ListBucketVersions",
    resources: ["bucket"],
    why: "compares the bucket with the ledger: `backfill --dry-run`, `audit`",
  },
  { action: "dynamodb:DescribeTable", resources: TABLES, why: DIFF },
  { action: "dynamodb:DescribeContinuousBackups", resources: TABLES, why: DIFF },
  { action: "dynamodb:DescribeTimeToLive", resources: TABLES, why: "`infra diff`, `ledger check`" },
  { action: "dynamodb:GetItem", resources: ["ledger"], why: "`why` and `ledger show`" },
  { action: "dynamodb:BatchGetItem", resources: ["ledger"], why: "reads failure reports" },
  { action: "dynamodb:Query", resources: ["ledger-notes"], why: "lists failure reports" },
  {
    action: "dynamodb:Query",
    resources: ["ledger-lists"],
    why: "`records list`, `watermark`, `lineage`",
  },
  { action: "dynamodb:Scan", resources: ["ledger"], why: "`ledger stats`, `ledger purge`, `why`" },
  { action: "dynamodb:PutItem", resources: ["ledger"], why: "reopens records for a redrive" },
  { action: "dynamodb:UpdateItem", resources: ["ledger"], why: "`pipeline pause` and `resume`" },
  {
    action: "dynamodb:DeleteItem",
    resources: ["ledger"],
    why: "purges, and drops failure reports",
  },
  { action: "kms:Decrypt", resources: ["key"], why: "SQS and DynamoDB decrypt for the caller" },
  { action: "kms:GenerateDataKey", resources: ["key"], why: "SQS encrypts redriven messages" },
];

/** In the order of the page. */
export const IAM_TABLE: readonly IamRow[] = [
  ...CONSUMER.map((row) => ({ role: "consumer" as const, ...row })),
  ...PRODUCER.map((row) => ({ role: "producer" as const, ...row })),
  ...OPERATOR.map((row) => ({ role: "operator" as const, ...row })),
];

/** Needed once, to create tables without Terraform; no role has them. */
export const IAM_SETUP_ACTIONS = [
  "dynamodb:CreateTable",
  "dynamodb:DescribeTable",
  "dynamodb:DescribeTimeToLive",
  "dynamodb:UpdateTimeToLive",
] as const;
