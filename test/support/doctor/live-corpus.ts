// Live corpus: queues as SQS describes them, with and without a pipeline.

import { days, seconds } from "../../../src/core/units.ts";
import type { ObservedPipeline } from "../../../src/doctor/setup.ts";
import type { CorpusCase } from "./corpus-case.ts";

const ARN = "arn:aws:sqs:eu-west-1:000000000000:";
const DAY_S = 86_400;

type Attributes = Readonly<Record<string, string>>;

const redrive = (dead: string, maxReceiveCount: number) =>
  JSON.stringify({ deadLetterTargetArn: `${ARN}${dead}`, maxReceiveCount });

const QUEUE: Attributes = {
  QueueArn: `${ARN}orders`,
  VisibilityTimeout: "60",
  MessageRetentionPeriod: String(4 * DAY_S),
  ReceiveMessageWaitTimeSeconds: "20",
  SqsManagedSseEnabled: "true",
  RedrivePolicy: redrive("orders-dead", 25),
};
const DEAD: Attributes = {
  QueueArn: `${ARN}orders-dead`,
  MessageRetentionPeriod: String(14 * DAY_S),
  ReceiveMessageWaitTimeSeconds: "20",
  SqsManagedSseEnabled: "true",
};
const FIFO: Attributes = {
  ...QUEUE,
  QueueArn: `${ARN}orders.fifo`,
  FifoQueue: "true",
  RedrivePolicy: redrive("orders-dead.fifo", 1_000),
};
const DEAD_FIFO: Attributes = { ...DEAD, QueueArn: `${ARN}orders-dead.fifo`, FifoQueue: "true" };

export const PIPELINE_FACTS: ObservedPipeline = {
  location: { name: "orders", file: "pipeline.ts" },
  name: "orders",
  attempts: 7,
  visibilityMs: seconds(60),
  onPoison: "halt",
  concurrency: 10,
  ledgerRetentionMs: days(45),
  bucket: null,
  prefix: "",
  queueName: "orders",
  columns: ["id"],
  masked: [],
};

const live = (
  rule: string,
  title: string,
  breaks: readonly string[],
  queues: readonly Attributes[],
  pipeline: Partial<ObservedPipeline> = {},
): CorpusCase => ({
  rule,
  title,
  breaks,
  files: {},
  live: queues,
  pipeline: { ...PIPELINE_FACTS, ...pipeline },
});

export const LIVE_CORPUS: readonly CorpusCase[] = [
  live("dead-letters-none", "a well configured queue", [], [QUEUE, DEAD]),
  live("dead-letters-type", "a well configured FIFO queue", [], [FIFO, DEAD_FIFO]),
  live(
    "dead-letters-none",
    "no redrive policy",
    ["dead-letters-none"],
    [{ ...QUEUE, RedrivePolicy: "" }],
  ),
  live("dead-letters-unseen", "a dead-letter queue that is gone", ["dead-letters-unseen"], [QUEUE]),
  live("dead-letters-unseen", "a dead-letter queue that is there", [], [QUEUE, DEAD]),
  live(
    "dead-letters-same",
    "its own dead-letter queue",
    ["dead-letters-same"],
    [{ ...QUEUE, RedrivePolicy: redrive("orders", 25) }],
  ),
  live("dead-letters-same", "another queue", [], [QUEUE, DEAD]),
  live(
    "dead-letters-type",
    "a FIFO dead-letter queue of a standard queue",
    ["dead-letters-type"],
    [{ ...QUEUE, RedrivePolicy: redrive("orders-dead.fifo", 25) }, DEAD_FIFO],
  ),
  live(
    "dead-letters-loop",
    "a dead-letter queue that moves messages back",
    ["dead-letters-loop"],
    [QUEUE, { ...DEAD, RedrivePolicy: redrive("orders", 3) }],
  ),
  live("dead-letters-loop", "no policy on the dead-letter queue", [], [QUEUE, DEAD]),
  live(
    "dead-letters-chained",
    "a third queue",
    ["dead-letters-chained"],
    [QUEUE, { ...DEAD, RedrivePolicy: redrive("third", 3) }],
  ),
  live("dead-letters-chained", "no third queue", [], [QUEUE, DEAD]),
  live(
    "dead-letters-time-left",
    "FIFO queues restart retention",
    [],
    [{ ...FIFO, MessageRetentionPeriod: String(12 * DAY_S) }, DEAD_FIFO],
  ),
  live(
    "receives-break-order",
    "a limit of 3 on a FIFO queue",
    ["receives-break-order"],
    [{ ...FIFO, RedrivePolicy: redrive("orders-dead.fifo", 3) }, DEAD_FIFO],
  ),
  live(
    "receives-break-order",
    "a limit of 30 on a FIFO queue whose order does not matter",
    [],
    [{ ...FIFO, RedrivePolicy: redrive("orders-dead.fifo", 30) }, DEAD_FIFO],
    { onPoison: "skip" },
  ),
  live(
    "receives-below-attempts",
    "5 receives for 7 attempts",
    ["receives-below-attempts"],
    [{ ...QUEUE, RedrivePolicy: redrive("orders-dead", 5) }, DEAD],
  ),
  live(
    "receives-below-attempts",
    "5 receives for 1 attempt",
    ["retry-none"],
    [{ ...QUEUE, RedrivePolicy: redrive("orders-dead", 5) }, DEAD],
    { attempts: 1 },
  ),
  live(
    "receives-too-few",
    "10 receives for 7 attempts",
    ["receives-too-few"],
    [{ ...QUEUE, RedrivePolicy: redrive("orders-dead", 10) }, DEAD],
  ),
  live(
    "receives-too-few",
    "10 receives for 2 attempts",
    [],
    [{ ...QUEUE, RedrivePolicy: redrive("orders-dead", 10) }, DEAD],
    { attempts: 2 },
  ),
  live(
    "visibility-short",
    "5 seconds for a pipeline with 60",
    ["visibility-short"],
    [{ ...QUEUE, VisibilityTimeout: "5" }, DEAD],
  ),
  live("visibility-short", "30 seconds", [], [{ ...QUEUE, VisibilityTimeout: "30" }, DEAD]),
  live(
    "visibility-static",
    "an hour, with a pipeline that sends heartbeats",
    [],
    [{ ...QUEUE, VisibilityTimeout: "3600" }, DEAD],
  ),
  live(
    "retention-short",
    "an hour",
    ["retention-short"],
    [{ ...QUEUE, MessageRetentionPeriod: "3600" }, DEAD],
  ),
  live("retention-short", "a day", [], [{ ...QUEUE, MessageRetentionPeriod: String(DAY_S) }, DEAD]),
  live(
    "queue-unencrypted",
    "no encryption",
    ["queue-unencrypted"],
    [{ ...QUEUE, SqsManagedSseEnabled: "false" }, DEAD],
  ),
  live(
    "queue-policy-open",
    "everybody may send",
    ["queue-policy-open"],
    [
      {
        ...QUEUE,
        Policy: JSON.stringify({
          Statement: { Effect: "Allow", Principal: "*", Action: "sqs:SendMessage" },
        }),
      },
      DEAD,
    ],
  ),
  live(
    "queue-policy-open",
    "one account may send",
    [],
    [
      {
        ...QUEUE,
        Policy: JSON.stringify({
          Statement: {
            Effect: "Allow",
            Principal: { AWS: "arn:aws:iam::123456789012:root" },
            Action: "sqs:SendMessage",
          },
        }),
      },
      DEAD,
    ],
  ),
  live("bucket-to-fifo", "a bucket through a FIFO queue", ["bucket-to-fifo"], [FIFO, DEAD_FIFO], {
    bucket: "in",
  }),
  live("bucket-to-fifo", "a bucket through a standard queue", [], [QUEUE, DEAD], { bucket: "in" }),
  live(
    "ledger-retention-short",
    "14 days for messages of up to 18",
    ["ledger-retention-short"],
    [QUEUE, DEAD],
    { ledgerRetentionMs: days(14) },
  ),
  live("ledger-retention-short", "45 days", [], [QUEUE, DEAD]),
  live("retry-none", "one attempt", ["retry-none"], [QUEUE, DEAD], { attempts: 1 }),
  live("retry-none", "two attempts", [], [QUEUE, DEAD], { attempts: 2 }),
  live("concurrency-one", "one at a time", ["concurrency-one"], [QUEUE, DEAD], { concurrency: 1 }),
  live("concurrency-one", "one at a time on FIFO", [], [FIFO, DEAD_FIFO], { concurrency: 1 }),
  live("sensitive-unmasked", "a password", ["sensitive-unmasked"], [QUEUE, DEAD], {
    columns: ["id", "user_password"],
  }),
  live(
    "sensitive-unmasked",
    "a masked card number, and a word that only contains one",
    [],
    [QUEUE, DEAD],
    {
      columns: ["id", "cardNumber", "shipping", "spinner"],
      masked: ["cardNumber"],
    },
  ),
];
