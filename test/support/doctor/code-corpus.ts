// Code corpus: programs that use the AWS SDK, with one mistake each, and correct ones.

import { type CorpusCase, changed } from "./corpus-case.ts";
import { HANDLER_CORPUS } from "./handler-corpus.ts";
import { PIPELINE_FACTS } from "./live-corpus.ts";
import { FIFO_TF, STANDARD_TF } from "./terraform-bases.ts";

type Changes = readonly (readonly [string, string])[];

/** A careful consumer of a standard queue. */
const CONSUMER = `
import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";

export async function consume(sqs: SQSClient, QueueUrl: string, ledger: Ledger): Promise<void> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 }),
  );
  const done = await Promise.all(Messages.map(async (message) => {
    const claimed = await ledger.claim({ ConditionExpression: "attribute_not_exists(id)" });
    if (claimed) await handle(message);
    return message;
  }));
  const Entries = done.map(({ ReceiptHandle }, at) => ({ Id: String(at), ReceiptHandle }));
  const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  for (const { Id } of Failed) console.warn("not deleted", Id);
}
`;

/** A consumer that deletes each message. */
const SINGLE = `
import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";

import { handle } from "./handle.ts";

export async function consume(sqs, QueueUrl, isNew) {
  const input = { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 20 };
  const { Messages: batch = [] } = await sqs.send(new ReceiveMessageCommand(input));
  await Promise.all(batch.map(async (message) => {
    const { ReceiptHandle, Body } = message;
    if (await isNew("insert or ignore", Body)) {
      await handle(message);
    }
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }));
}
`;

/** A careful producer to a FIFO queue. */
const PRODUCER = `
import { SendMessageCommand } from "@aws-sdk/client-sqs";

export async function produce(sqs, QueueUrl: string, order: Order) {
  await sqs.send(new SendMessageCommand({
    QueueUrl,
    MessageBody: JSON.stringify({ id: order.id, total: order.total }),
    MessageGroupId: order.customer,
    MessageDeduplicationId: order.id,
  }));
}
`;
const TESTED =
  'import { complianceTests } from "tidegate/testkit";\n' +
  'import { produce } from "../src/app.ts";\ncomplianceTests(produce);\n';
const OF_TIDEGATE = '{ "dependencies": { "tidegate": "1" } }';
const COMMENT = "# npx tidegate comply src/app.ts\n";
const OTHER_TESTED = TESTED.replace("app.ts", "other.ts");

const files = (name: string, text: string, more: Readonly<Record<string, string>> = {}) => ({
  [name]: text,
  ...more,
});
const bad = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  rule,
  title,
  breaks: [rule],
  files: files("src/app.ts", changed(base, ...changes), { "test/app.test.ts": TESTED }),
});
const good = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  ...bad(rule, title, base, ...changes),
  breaks: [],
});

const AFTER = `    if (await isNew("insert or ignore", Body)) {
      await handle(message);
    }
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));`;
const DELETE = "    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));";
const GROUP = "    MessageGroupId: order.customer,\n";
const DEDUP = "    MessageDeduplicationId: order.id,\n";

export const CODE_CORPUS: readonly CorpusCase[] = [
  good("no-idempotency", "a careful consumer", CONSUMER),
  good("delete-before-processing", "handle, then delete", SINGLE),
  good("producer-untested", "a careful producer with its test", PRODUCER),
  bad("delete-before-processing", "delete, then handle", SINGLE, [
    AFTER,
    `${DELETE}\n    await handle(message, "insert or ignore");`,
  ]),
  bad("delete-on-failure", "delete in finally", SINGLE, [
    AFTER,
    `    try { await handle(message, "insert or ignore"); } finally {\n${DELETE}\n    }`,
  ]),
  bad("delete-on-failure", "delete in catch", SINGLE, [
    AFTER,
    `    try { await handle(message, "insert or ignore"); } catch (error) {
      console.error(error);
  ${DELETE}
    }`,
  ]),
  good("delete-on-failure", "a failed message is sent elsewhere before", SINGLE, [
    AFTER,
    `    try { await handle(message, "insert or ignore"); } catch {
      await sqs.send(new SendMessageCommand({ QueueUrl: dead, MessageBody: Body }));
  ${DELETE}
    }`,
  ]),
  bad("no-idempotency", "nothing is remembered", SINGLE, [
    'if (await isNew("insert or ignore", Body)) {',
    "if (Body !== undefined) {",
  ]),
  bad("batch-failures-ignored", "the response is not read", CONSUMER, [
    `  const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  for (const { Id } of Failed) console.warn("not deleted", Id);`,
    "  await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));",
  ]),
  good("batch-failures-ignored", "the failed entries are logged", CONSUMER),
  bad("batch-truncated", "the first ten", CONSUMER, ["done.map((", "done.slice(0, 10).map(("]),
  good("batch-truncated", "batches of ten", CONSUMER, [
    "done.map((",
    "done.slice(0, 10).concat(done.slice(10)).map((",
  ]),
  bad("fifo-in-parallel", "all messages of a FIFO queue at once", CONSUMER, [
    "WaitTimeSeconds: 20 }",
    'WaitTimeSeconds: 20, MessageSystemAttributeNames: ["MessageGroupId"] }',
  ]),
  good(
    "fifo-in-parallel",
    "a FIFO queue in order",
    SINGLE,
    [
      "await Promise.all(batch.map(async (message) => {",
      "for (const message of batch) { // orders.fifo",
    ],
    ["  }));\n}", "  }\n}"],
  ),
  bad("key-from-attribute", "a key of an attribute", SINGLE, [
    'isNew("insert or ignore", Body)',
    'isNew("insert or ignore", message.MessageAttributes?.idempotencyKey?.StringValue)',
  ]),
  good("key-from-attribute", "a tenant of an attribute", SINGLE, [
    'isNew("insert or ignore", Body)',
    'isNew("insert or ignore", Body, message.MessageAttributes?.tenant?.StringValue)',
  ]),
  bad("short-polling-in-code", "wait time 0", CONSUMER, [
    "WaitTimeSeconds: 20",
    "WaitTimeSeconds: 0",
  ]),
  bad("short-polling-in-code", "no wait time", CONSUMER, [", WaitTimeSeconds: 20", ""]),
  good("short-polling-in-code", "wait time of a setting", CONSUMER, [
    "WaitTimeSeconds: 20",
    "WaitTimeSeconds: waitSeconds",
  ]),
  bad("one-message-per-receive", "one message", CONSUMER, [
    "MaxNumberOfMessages: 10",
    "MaxNumberOfMessages: 1",
  ]),
  good("one-message-per-receive", "as many as are free", CONSUMER, [
    "MaxNumberOfMessages: 10",
    "MaxNumberOfMessages: free",
  ]),
  bad(
    "messages-one-by-one",
    "a loop over messages",
    SINGLE,
    ["Messages: batch = []", "Messages: messages = []"],
    ["await Promise.all(batch.map(async (message) => {", "for (const message of messages) {"],
    ["  }));\n}", "  }\n}"],
  ),
  good("messages-one-by-one", "all at once", CONSUMER),
  bad("sdk-retries-off", "one attempt", CONSUMER, [
    "export async function",
    "export const client = new SQSClient({ maxAttempts: 1 });\nexport async function",
  ]),
  good("sdk-retries-off", "five attempts", CONSUMER, [
    "export async function",
    "export const client = new SQSClient({ maxAttempts: 5 });\nexport async function",
  ]),
  bad("write-then-send", "a producer that writes first", PRODUCER, [
    "  await sqs.send(",
    `  await dynamodb.send(new PutCommand({
    TableName, Item: order, ConditionExpression: "attribute_not_exists(id)",
  }));
  await sqs.send(`,
  ]),
  good("write-then-send", "an outbox row that is marked afterwards", PRODUCER, [
    "  await sqs.send(",
    `  await dynamodb.send(new PutCommand({
    TableName: outbox, Item: order, ConditionExpression: "attribute_not_exists(id)",
  }));
  await sqs.send(`,
  ]),
  bad("dedup-id-volatile", "a random id", PRODUCER, [
    "MessageDeduplicationId: order.id",
    "MessageDeduplicationId: crypto.randomUUID()",
  ]),
  good("dedup-id-volatile", "a hash of the key", PRODUCER, [
    "MessageDeduplicationId: order.id",
    'MessageDeduplicationId: createHash("sha256").update(order.id).digest("hex")',
  ]),
  bad(
    "body-volatile",
    "a time in the body",
    PRODUCER,
    [DEDUP, ""],
    ["total: order.total }", "total: order.total, sentAt: Date.now() }"],
  ),
  good("body-volatile", "a time in the body, and an id", PRODUCER, [
    "total: order.total }",
    "total: order.total, sentAt: Date.now() }",
  ]),
  bad("one-message-group", "one group", PRODUCER, [
    "MessageGroupId: order.customer",
    'MessageGroupId: "orders"',
  ]),
  good("one-message-group", "a group per customer", PRODUCER),
  bad("single-sends", "a loop", PRODUCER, [
    "  await sqs.send(",
    "  for (const order of orders) await sqs.send(",
  ]),
  good("single-sends", "one message", PRODUCER),
  bad("sensitive-in-message", "a social security number", PRODUCER, [
    "total: order.total }",
    "ssn: order.ssn }",
  ]),
  good("sensitive-in-message", "an encrypted one", PRODUCER, [
    "total: order.total }",
    "ssn: encrypt(order.ssn) }",
  ]),
  bad("queue-url-in-code", "a URL", PRODUCER, [
    "    QueueUrl,\n",
    '    QueueUrl: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo",\n',
  ]),
  good("queue-url-in-code", "a setting", PRODUCER, [
    "    QueueUrl,\n",
    "    QueueUrl: process.env.QUEUE_URL,\n",
  ]),
  bad("endpoint-without-tls", "http", PRODUCER, [
    "export async function",
    'export const sqs = new SQSClient({ endpoint: "http://queue.example.com" });\nexport async function',
  ]),
  good("endpoint-without-tls", "an endpoint on this machine", PRODUCER, [
    "export async function",
    'export const sqs = new SQSClient({ endpoint: "http://127.0.0.1:4566" });\nexport async function',
  ]),
  bad("attributes-undocumented", "an attribute", PRODUCER, [
    GROUP,
    `${GROUP}    MessageAttributes: { tenant: { DataType: "String", StringValue: "a" } },\n`,
  ]),
  {
    ...good("attributes-undocumented", "an attribute of the readme", PRODUCER),
    files: {
      "src/app.ts": changed(PRODUCER, [
        GROUP,
        `${GROUP}    MessageAttributes: { tenant: { DataType: "String", StringValue: "a" } },\n`,
      ]),
      "test/app.test.ts": TESTED,
      "README.md": "`tenant` is the customer's name.",
    },
  },
  {
    ...bad("producer-untested", "no test", PRODUCER),
    files: { "src/app.ts": PRODUCER, "package.json": OF_TIDEGATE },
  },
  {
    ...good("producer-untested", "a project without Tidegate", PRODUCER),
    files: { "src/app.ts": PRODUCER },
  },
  {
    ...bad("producer-untested", "a test of another producer", PRODUCER),
    files: { "src/app.ts": PRODUCER, "test/other.test.ts": OTHER_TESTED },
  },
  {
    ...bad("producer-untested", "a workflow that only mentions it", PRODUCER),
    files: { "src/app.ts": PRODUCER, "package.json": OF_TIDEGATE, "ci.yml": COMMENT },
  },
  {
    ...bad("producer-untested", "a Tidegate producer without a test", ""),
    files: {
      "src/app.ts":
        'import { createProducer } from "tidegate/produce";\nexport const p = createProducer(x);\n',
    },
  },
  {
    ...good("producer-untested", "tidegate comply in a workflow", ""),
    files: {
      "src/app.ts": PRODUCER,
      ".github/workflows/checks.yml": "      - run: npx tidegate comply src/app.ts\n",
    },
  },
  {
    ...bad("standard-for-order", "a message group on a standard queue", ""),
    files: {
      "src/app.ts": PRODUCER.replace(DEDUP, ""),
      "test/app.test.ts": TESTED,
      "main.tf": STANDARD_TF,
    },
  },
  {
    ...good("standard-for-order", "a message group on a FIFO queue", ""),
    files: { "src/app.ts": PRODUCER, "test/app.test.ts": TESTED, "main.tf": FIFO_TF },
  },
  {
    ...good("visibility-static", "an hour, with heartbeats in the code", ""),
    files: {
      "src/app.ts": `${CONSUMER}
export const renew = (sqs, input) => sqs.send(new ChangeMessageVisibilityCommand(input));\n`,
      "main.tf": changed(STANDARD_TF, [
        "visibility_timeout_seconds = 60",
        "visibility_timeout_seconds = 3600",
      ]),
    },
  },
  {
    ...bad("get-object-too-wide", "the whole bucket", ""),
    files: {
      "main.tf": changed(STANDARD_TF, [
        `Resource = "\${aws_s3_bucket.in.arn}/in/*"`,
        `Resource = "\${aws_s3_bucket.in.arn}/*"`,
      ]),
    },
    pipeline: { ...PIPELINE_FACTS, bucket: "orders-in", prefix: "in/" },
  },
  {
    ...good("get-object-too-wide", "the prefix of the pipeline", ""),
    files: { "main.tf": STANDARD_TF },
    pipeline: { ...PIPELINE_FACTS, bucket: "orders-in", prefix: "in/" },
  },
  ...HANDLER_CORPUS,
];
