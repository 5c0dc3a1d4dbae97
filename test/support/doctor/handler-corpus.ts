// Handler corpus: functions of Lambda, of sqs-consumer, of NestJS and of Powertools, good and bad.

import { type CorpusCase, changed } from "./corpus-case.ts";

type Changes = readonly (readonly [string, string])[];

const bad = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  rule,
  title,
  breaks: [rule],
  files: { "src/handler.ts": changed(base, ...changes) },
});
const good = (rule: string, title: string, base: string, ...changes: Changes): CorpusCase => ({
  ...bad(rule, title, base, ...changes),
  breaks: [],
});

/** A function that reports single failures. */
const PARTIAL = `
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { bookInvoice } from "./book.ts";

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const record of event.Records) {
    try {
      await bookInvoice(JSON.parse(record.body));
    } catch (error) {
      console.error("not booked", error);
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };
}
`;
const REPORT = "      batchItemFailures.push({ itemIdentifier: record.messageId });\n";

/** A NestJS service with an enum, decorators and parameter properties. */
const NEST = `
import { Injectable } from "@nestjs/common";
import { SqsMessageHandler } from "@ssut/nestjs-sqs";
import type { Message } from "@aws-sdk/client-sqs";

export enum Outcome { Paid = "paid", Refused = "refused" }

@Injectable()
export class Payments {
  constructor(private readonly books: Books, readonly name = "payments") {}

  @SqsMessageHandler("payments", false)
  async onPayment(message: Message) {
    await this.books.enter(JSON.parse(message.Body!) as Payment, Outcome.Paid);
  }
}
`;
const ENTER = "    await this.books.enter(JSON.parse(message.Body!) as Payment, Outcome.Paid);";

const CONSUMER = `
const { Consumer } = require("sqs-consumer");
const { ship } = require("./ship");

const consumer = Consumer.create({
  queueUrl: process.env.QUEUE_URL,
  handleMessage: async (message) => {
    await ship(JSON.parse(message.Body));
  },
});
consumer.start();
`;
const SHIP = "    await ship(JSON.parse(message.Body));";
const LOGGED = (work: string) => `    try {
  ${work}
    } catch (error) {
      console.error("failed", error);
    }`;

export const HANDLER_CORPUS: readonly CorpusCase[] = [
  good("failure-swallowed", "partial failures", PARTIAL),
  bad("failure-swallowed", "a log instead of a failure", PARTIAL, [REPORT, ""]),
  good("failure-swallowed", "a log, and the error is thrown on", PARTIAL, [
    REPORT,
    "      throw error;\n",
  ]),
  good("failure-swallowed", "a failure that somebody else handles", PARTIAL, [
    REPORT,
    "      await park(record, error);\n",
  ]),
  good("failure-swallowed", "a cache that may fail beside the work", PARTIAL, [
    "      await bookInvoice(JSON.parse(record.body));\n",
    `      await bookInvoice(JSON.parse(record.body));
      try { await cache.put(record.messageId); } catch (error) { console.warn(error); }
`,
  ]),
  bad("failure-swallowed", "outcomes of allSettled", PARTIAL, [
    "  for (const record of event.Records) {",
    `  await Promise.allSettled(event.Records.map((each) => bookInvoice(each.body)));
  for (const record of []) {`,
  ]),
  bad("failure-swallowed", "a promise whose error is logged", PARTIAL, [
    "      await bookInvoice(JSON.parse(record.body));\n    } catch (error) {",
    `      await bookInvoice(record.body).catch((error) => console.error(error));
    } catch (error) {`,
  ]),
  bad("failure-swallowed", "a method of NestJS", NEST, [ENTER, LOGGED(ENTER)]),
  good("failure-swallowed", "a method of NestJS that throws", NEST),
  bad("failure-swallowed", "a handler of sqs-consumer", CONSUMER, [SHIP, LOGGED(SHIP)]),
  good("failure-swallowed", "a handler that returns what it did", CONSUMER, [
    SHIP,
    LOGGED(`${SHIP}\n      return message;`),
  ]),
  bad("failure-swallowed", "a record handler of Powertools", "", [
    "",
    `import { BatchProcessor, EventType, processPartialResponse } from "@aws-lambda-powertools/batch";
const processor = new BatchProcessor(EventType.SQS);
const recordHandler = async (record) => {
  try {
    await store(record.body);
  } catch (error) {
    logger.error("not stored", error);
  }
};
export const handler = (event) => processPartialResponse(event, recordHandler, processor);
`,
  ]),
  bad("delete-before-processing", "forEach with promises", PARTIAL, [
    "  for (const record of event.Records) {",
    `  event.Records.forEach(async (each) => { await bookInvoice(each.body); });
  for (const record of []) {`,
  ]),
  bad("delete-before-processing", "a promise that no one waits for", CONSUMER, [
    SHIP,
    `    later(message);
  },
});
async function later(message) {
  await ship(message.Body);
}
Object.assign({
  more() {`,
  ]),
  bad(
    "batch-fails-whole",
    "a loop without partial failures",
    PARTIAL,
    [
      `    try {
      await bookInvoice(JSON.parse(record.body));
    } catch (error) {
      console.error("not booked", error);
      batchItemFailures.push({ itemIdentifier: record.messageId });
    }
  }
  return { batchItemFailures };`,
      "    await bookInvoice(JSON.parse(record.body));\n  }",
    ],
    ["  const batchItemFailures: { itemIdentifier: string }[] = [];\n", ""],
  ),
  good("batch-fails-whole", "partial failures", PARTIAL),
  bad("short-polling-in-code", "an input with a name", "", [
    "",
    `import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
export async function next(client, QueueUrl: string) {
  const params = { QueueUrl, MaxNumberOfMessages: 10 };
  const command = new ReceiveMessageCommand(params);
  return client.send(command);
}
`,
  ]),
  good("short-polling-in-code", "an input that is completed later", "", [
    "",
    `import { ReceiveMessageCommand } from "@aws-sdk/client-sqs";
export async function next(client, QueueUrl: string) {
  const params: Input = { QueueUrl, MaxNumberOfMessages: 10 };
  params.WaitTimeSeconds = 20;
  return client.send(new ReceiveMessageCommand(params));
}
`,
  ]),
  good("no-idempotency", "a library that is given its handler", "", [
    "",
    `import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
export class Poller {
  constructor(private readonly options: Options) {}
  async poll(client, QueueUrl: string) {
    const input = { QueueUrl, WaitTimeSeconds: 20, MaxNumberOfMessages: 10 };
    const { Messages = [] } = await client.send(new ReceiveMessageCommand(input));
    await Promise.all(Messages.map((each) => this.options.handle(each)));
    for (const { ReceiptHandle } of Messages) {
      await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
  }
}
`,
  ]),
];
