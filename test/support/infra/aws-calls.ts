// AWS calls: the IAM actions and resources that AWS checks for a request, from AWS's service
// authorization reference.
//   C1. A batch is authorised as its single action, and a transaction as the actions of its items.
//   C2. A version of an object needs GetObjectVersion instead of GetObject. For a missing
//       object, a caller without ListBucket gets 403 instead of 404.
//   C3. With a customer key, SQS, SNS and S3 also use the key in the name of the caller.
//   C4. An unknown request is an error: a new call must be added here and to the IAM table.
//   C5. ECS lists tasks on `*`, tags a new task by TagResource, and needs PassRole for the roles of
//       its task definition.

import type { IncomingHttpHeaders } from "node:http";

export interface AwsCall {
  readonly action: string;
  readonly resource: string;
  /** Condition keys of the request, in lower case. */
  readonly context?: Readonly<Record<string, string>>;
}

export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RecordedCalls {
  readonly service: "sqs" | "sns" | "s3" | "dynamodb" | "ecs";
  readonly calls: readonly AwsCall[];
  /** Needed in addition if the response is 404 (C2). */
  readonly ifMissing: readonly AwsCall[];
}

const WHERE = "us-east-1:000000000000";
/** The role of every task definition (C5). */
export const TASK_ROLE_ARN = "arn:aws:iam::000000000000:role/task";

export function callsOf(request: RecordedRequest, keyArn: string | null): RecordedCalls {
  const { service, calls, ifMissing = [] } = plainCalls(request);
  const withKey = keyArn === null ? [] : calls.flatMap(({ action }) => keyCalls(action, keyArn));
  return { service, calls: [...calls, ...withKey], ifMissing };
}

function plainCalls(
  request: RecordedRequest,
): Partial<RecordedCalls> & Omit<RecordedCalls, "ifMissing"> {
  const target = String(request.headers["x-amz-target"] ?? "");
  const [family = "", action = ""] = target.split(".");
  if (family === "AmazonSQS") return { service: "sqs", calls: sqsCalls(action, request) };
  if (family.startsWith("DynamoDB_")) {
    return { service: "dynamodb", calls: dynamoCalls(action, request) };
  }
  if (family.startsWith("AmazonEC2ContainerService")) {
    return { service: "ecs", calls: ecsCalls(action, request) };
  }
  const isForm = String(request.headers["content-type"]).includes("x-www-form-urlencoded");
  if (isForm) return { service: "sns", calls: snsCalls(request) };
  return { service: "s3", ...s3Calls(request) };
}

function sqsCalls(name: string, { body }: RecordedRequest): AwsCall[] {
  const { QueueName, QueueUrl } = JSON.parse(body.toString()) as Record<string, string>;
  const queue = QueueName ?? QueueUrl?.split("/").at(-1);
  const action = `sqs:${name.replace(/Batch$/, "")}`; // C1
  return [{ action, resource: `arn:aws:sqs:${WHERE}:${queue}` }];
}

function ecsCalls(name: string, { body }: RecordedRequest): AwsCall[] {
  const input = JSON.parse(body.toString()) as {
    cluster?: string;
    taskDefinition?: string;
    tasks?: string[];
    task?: string;
    resourceArn?: string;
  };
  const action = `ecs:${name}`;
  const context = { "ecs:cluster": `arn:aws:ecs:${WHERE}:cluster/${input.cluster}` };
  switch (name) {
    case "RunTask": {
      const resource = `arn:aws:ecs:${WHERE}:task-definition/${input.taskDefinition}`;
      const newTask = `arn:aws:ecs:${WHERE}:task/${input.cluster}/new`;
      const passed = { "iam:passedtoservice": "ecs-tasks.amazonaws.com" };
      return [
        { action, resource, context },
        { action: "ecs:TagResource", resource: newTask },
        { action: "iam:PassRole", resource: TASK_ROLE_ARN, context: passed }, // C5
      ];
    }
    case "ListTasks":
      return [{ action, resource: "*", context }]; // C5
    case "DescribeTasks":
      return (input.tasks ?? []).map((resource) => ({ action, resource }));
    case "StopTask":
    case "TagResource":
      return [{ action, resource: input.task ?? input.resourceArn ?? "" }];
    default:
      throw new Error(`unknown call ${action}`); // C4
  }
}

function snsCalls({ body }: RecordedRequest): AwsCall[] {
  const form = new URLSearchParams(body.toString());
  const action = `sns:${form.get("Action")?.replace(/Batch$/, "")}`; // C1
  // A subscription is authorised as its topic, whose ARN starts its own.
  const subscribed = form.get("SubscriptionArn")?.split(":").slice(0, 6).join(":");
  return [{ action, resource: form.get("TopicArn") ?? subscribed ?? "" }];
}

const BUCKET_ACTIONS: Readonly<Record<string, string>> = {
  versions: "s3:ListBucketVersions",
  versioning: "s3:GetBucketVersioning",
  notification: "s3:GetBucketNotification",
  policy: "s3:GetBucketPolicy",
  publicAccessBlock: "s3:GetBucketPublicAccessBlock",
  encryption: "s3:GetEncryptionConfiguration",
  ownershipControls: "s3:GetBucketOwnershipControls",
};

function s3Calls({ method, url }: RecordedRequest): Pick<RecordedCalls, "calls" | "ifMissing"> {
  const { pathname, searchParams } = new URL(url, "http://s3");
  const [bucket = "", ...rest] = pathname.slice(1).split("/").map(decodeURIComponent);
  const bucketArn = `arn:aws:s3:::${bucket}`;
  const key = rest.join("/");
  const resource = `${bucketArn}/${key}`;
  if (key === "") {
    const action = Object.entries(BUCKET_ACTIONS).find(([name]) => searchParams.has(name))?.[1];
    if (method !== "GET" || action === undefined) throw new Error(`unknown call ${method} ${url}`); // C4
    return { calls: [{ action, resource: bucketArn }], ifMissing: [] };
  }
  if (method === "PUT") return { calls: [{ action: "s3:PutObject", resource }], ifMissing: [] };
  if (method !== "GET" && method !== "HEAD") throw new Error(`unknown call ${method} ${url}`); // C4
  const versioned = searchParams.has("versionId") ? "Version" : ""; // C2
  const tags = searchParams.has("tagging") ? "Tagging" : "";
  const action = `s3:GetObject${versioned}${tags}`;
  return {
    calls: [{ action, resource }],
    ifMissing: [{ action: "s3:ListBucket", resource: bucketArn }],
  };
}

const TRANSACT_ACTIONS: Readonly<Record<string, string>> = {
  Put: "PutItem",
  Update: "UpdateItem",
  Delete: "DeleteItem",
  ConditionCheck: "ConditionCheckItem",
};

function dynamoCalls(name: string, { body }: RecordedRequest): AwsCall[] {
  const input = JSON.parse(body.toString()) as {
    TableName?: string;
    IndexName?: string;
    TransactItems?: Record<string, { TableName: string }>[];
    RequestItems?: Record<string, unknown>;
  };
  const call = (action: string, table: string, index?: string): AwsCall => ({
    action: `dynamodb:${action}`,
    resource: `arn:aws:dynamodb:${WHERE}:table/${table}${index === undefined ? "" : `/index/${index}`}`,
  });
  if (input.TransactItems !== undefined) {
    return input.TransactItems.flatMap((item) =>
      Object.entries(item).map(
        ([kind, { TableName }]) => call(TRANSACT_ACTIONS[kind] ?? kind, TableName), // C1
      ),
    );
  }
  if (input.RequestItems !== undefined) {
    return Object.keys(input.RequestItems).map((table) => call(name, table));
  }
  return [call(name, input.TableName ?? "", input.IndexName)];
}

/** What a service does with the key for a caller (C3). */
function keyCalls(action: string, resource: string): AwsCall[] {
  const decrypt = { action: "kms:Decrypt", resource };
  const generate = { action: "kms:GenerateDataKey", resource };
  switch (action) {
    case "sqs:ReceiveMessage":
    case "s3:GetObject":
    case "s3:GetObjectVersion":
      return [decrypt];
    case "sqs:SendMessage":
    case "sns:Publish":
      return [generate, decrypt];
    case "s3:PutObject":
      return [generate];
    default:
      return [];
  }
}
