// Python corpus: consumers and functions with boto3, good and with one mistake each.

import { type CorpusCase, changed } from "./corpus-case.ts";

type Changes = readonly (readonly [string, string])[];

const bad = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  rule,
  title: `Python: ${title}`,
  breaks: [rule],
  files: { "app/worker.py": changed(base, ...changes) },
});
const good = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  ...bad(rule, title, base, ...changes),
  breaks: [],
});

const WORKER = `import os
import boto3
from books import enter_once, park

sqs = boto3.client("sqs")
QUEUE_URL = os.environ["QUEUE_URL"]


def work(idempotency_table):
    while True:
        answer = sqs.receive_message(QueueUrl=QUEUE_URL, MaxNumberOfMessages=10, WaitTimeSeconds=20)
        entries = []
        for message in answer.get("Messages", []):
            try:
                entries.append(book(message, idempotency_table))
            except Exception as error:
                print("not booked", error)
        done = sqs.delete_message_batch(QueueUrl=QUEUE_URL, Entries=entries)
        for failed in done.get("Failed", []):
            print("not deleted", failed["Id"])


def book(message, table):
    enter_once(table, message["Body"])
    return {"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]}
`;
const RESULT = `        done = sqs.delete_message_batch(QueueUrl=QUEUE_URL, Entries=entries)
        for failed in done.get("Failed", []):
            print("not deleted", failed["Id"])
`;

const SINGLE = `import boto3
from books import enter

client = boto3.client("sqs")


def work(url, idempotency):
    input = {"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 20}
    for message in client.receive_message(**input)["Messages"]:
        one(url, message)


def one(url, message):
    enter(message["Body"])
    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
`;
const ENTER = `    enter(message["Body"])
    client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
`;
const DELETE = 'client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])';

const FUNCTION = `import json
from books import enter


def lambda_handler(event, context):
    failures = []
    for record in event["Records"]:
        try:
            enter(json.loads(record["body"]))
        except Exception as error:
            print(f"not booked: {error}")
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}
`;
const REPORTED = '            failures.append({"itemIdentifier": record["messageId"]})\n';

export const PYTHON_CORPUS: readonly CorpusCase[] = [
  good("batch-failures-ignored", "a careful worker", WORKER),
  bad("batch-failures-ignored", "the response is not read", WORKER, [
    RESULT,
    "        sqs.delete_message_batch(QueueUrl=QUEUE_URL, Entries=entries)\n",
  ]),
  bad("short-polling-in-code", "no wait", WORKER, [", WaitTimeSeconds=20", ""]),
  bad("one-message-per-receive", "one message", WORKER, [
    "MaxNumberOfMessages=10",
    "MaxNumberOfMessages=1",
  ]),
  bad("no-idempotency", "nothing is remembered", WORKER.replaceAll("idempotency_", "")),
  good("delete-before-processing", "enter, then delete", SINGLE),
  bad("delete-before-processing", "delete, then enter", SINGLE, [
    ENTER,
    `    ${DELETE}\n    enter(message["Body"])\n`,
  ]),
  bad("delete-on-failure", "delete in finally", SINGLE, [
    ENTER,
    `    try:\n        enter(message["Body"])\n    finally:\n        ${DELETE}\n`,
  ]),
  bad("delete-on-failure", "delete in except", SINGLE, [
    ENTER,
    `    try:
        enter(message["Body"])
    except Exception as error:
        print(error)
        ${DELETE}
`,
  ]),
  good("failure-swallowed", "partial failures", FUNCTION),
  bad("failure-swallowed", "a log instead of a failure", FUNCTION, [REPORTED, ""]),
  good(
    "failure-swallowed",
    "one kind of error that ends the message",
    FUNCTION,
    [REPORTED, ""],
    ["except Exception as error", "except AlreadyEntered as error"],
  ),
  good("failure-swallowed", "raised after the log", FUNCTION, [REPORTED, "            raise\n"]),
  bad("failure-swallowed", "a record handler of Powertools", "", [
    "",
    `from aws_lambda_powertools.utilities.batch import BatchProcessor, process_partial_response
processor = BatchProcessor(event_type=EventType.SQS)


def record_handler(record):
    try:
        store(record.body)
    except Exception:
        logger.exception("not stored")


def lambda_handler(event, context):
    return process_partial_response(event, record_handler, processor, context)
`,
  ]),
  bad("batch-fails-whole", "a loop without partial failures", "", [
    "",
    `from books import enter


def handler(event, context):
    for record in event["Records"]:
        enter(record["body"])
`,
  ]),
  good("batch-fails-whole", "records of a stream", "", [
    "",
    `from books import enter


def handler(event, context):
    for record in event["Records"]:
        enter(record["dynamodb"]["NewImage"])
`,
  ]),
];
