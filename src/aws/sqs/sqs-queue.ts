// SQS queue: sends to and receives from a queue of SQS, or of a compatible server.
//   A1. Every request has a deadline, longer than its long-poll wait: a dead connection would
//       otherwise block its caller forever.
//   A2. Seconds are rounded up, so that no message becomes visible earlier than requested.
//   A3. System attributes are requested by name: otherwise SQS returns none of them.

import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { TidegateError } from "../../core/errors.ts";
import { traceHeaderOf } from "../../core/events/trace-context.ts";
import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
  SQS_RECEIVE_MESSAGES_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_VISIBILITY_MS_MAX,
} from "../../core/limits.ts";
import { QUEUE_FACT_ATTRIBUTES, queueFactsOf } from "../../core/queue-facts.ts";
import { type DurationMs, durationMs, epochMs, seconds } from "../../core/units.ts";
import type { OutgoingMessage } from "../../ports/queue.ts";
import type { Delivery, Queue, QueueReceiver } from "../../ports/queue-receiver.ts";
import { asked, REQUEST_MS_MAX, withDeadline } from "../request-deadline.ts";
import { queueFault, settlementResults } from "../sdk-errors.ts";
import { sendEntry, sendOutcomes, textAttribute } from "../send-batch.ts";

/** Names a queue by its URL, which is not looked up. */
export interface SqsQueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** The queue's MaximumMessageSize, if it is below 1 MiB. */
  readonly messageBytesMax?: number;
}

const SYSTEM_ATTRIBUTES = [
  "AWSTraceHeader",
  "MessageGroupId",
  "MessageDeduplicationId",
  "SentTimestamp",
  "ApproximateReceiveCount",
  "DeadLetterQueueSourceArn",
] as const;

/** A queue of SQS, or of any compatible endpoint, to send to and to receive from. */
export function createSqsQueue(options: SqsQueueOptions): Queue {
  const { client, queueUrl, messageBytesMax = SQS_MESSAGE_BYTES_MAX } = options;
  const name = queueUrl.split("/").at(-1) ?? "";
  if (!URL.canParse(queueUrl) || name === "") {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(queueUrl)} is not a queue URL`);
  }
  return {
    kind: "queue",
    name,
    fifo: name.endsWith(".fifo"),
    limits: {
      entriesMax: SQS_BATCH_ENTRIES_MAX,
      batchBytesMax: SQS_BATCH_BYTES_MAX,
      messageBytesMax,
    },
    async sendBatch(messages) {
      const Entries = messages.map(entryOf);
      const command = new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return sendOutcomes(messages.length, answer);
    },
    ...receiverOf(client, queueUrl, name),
  };
}

type Receiving = Omit<QueueReceiver, "name" | "fifo">;

function receiverOf(client: SQSClient, QueueUrl: string, name: string): Receiving {
  return {
    async receive({ max, waitMs, visibilityMs }, signal) {
      if (signal.aborted) return [];
      const waitSeconds = wholeSeconds(waitMs, SQS_RECEIVE_WAIT_MS_MAX);
      const command = new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: Math.min(max, SQS_RECEIVE_MESSAGES_MAX),
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: wholeSeconds(visibilityMs, SQS_VISIBILITY_MS_MAX),
        MessageSystemAttributeNames: [...SYSTEM_ATTRIBUTES], // A3
        MessageAttributeNames: ["All"],
      });
      const msMax = durationMs(seconds(waitSeconds) + REQUEST_MS_MAX);
      try {
        const receive = (abortSignal: AbortSignal) => client.send(command, { abortSignal });
        const { Messages = [] } = await withDeadline(receive, msMax, signal);
        return Messages.map(deliveryOf);
      } catch (error) {
        if (signal.aborted) return [];
        throw queueFault(error, name);
      }
    },
    async deleteBatch(receipts) {
      const Entries = receipts.map((ReceiptHandle, at) => ({ Id: String(at), ReceiptHandle }));
      const command = new DeleteMessageBatchCommand({ QueueUrl, Entries });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return settlementResults(receipts.length, answer);
    },
    async changeVisibility(changes) {
      const Entries = changes.map(({ receipt, visibilityMs }, at) => ({
        Id: String(at),
        ReceiptHandle: receipt,
        VisibilityTimeout: wholeSeconds(visibilityMs, SQS_VISIBILITY_MS_MAX),
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return settlementResults(changes.length, answer);
    },
    async facts() {
      const AttributeNames = [...QUEUE_FACT_ATTRIBUTES];
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return queueFactsOf(answer.Attributes ?? {});
    },
  };
}

function wholeSeconds(span: DurationMs, max: DurationMs): number {
  return Math.ceil(Math.min(Math.max(span, 0), max) / 1_000); // A2
}

function entryOf(message: OutgoingMessage, at: number): SendMessageBatchRequestEntry {
  const trace = traceHeaderOf(message.attributes);
  return {
    ...sendEntry(message, at),
    MessageBody: message.body,
    ...(trace !== null && { MessageSystemAttributes: { AWSTraceHeader: textAttribute(trace) } }),
  };
}

function deliveryOf(message: Message): Delivery {
  const { MessageId = "", ReceiptHandle = "", Body = "", Attributes: system = {} } = message;
  return {
    messageId: MessageId,
    receipt: ReceiptHandle,
    body: Body,
    attributes: textOf(message.MessageAttributes ?? {}),
    traceHeader: system.AWSTraceHeader ?? null,
    groupId: system.MessageGroupId ?? null,
    dedupId: system.MessageDeduplicationId ?? null,
    sentAt: epochMs(Number(system.SentTimestamp ?? Date.now())),
    receiveCount: Number(system.ApproximateReceiveCount ?? 1),
    movedFrom: system.DeadLetterQueueSourceArn ?? null,
  };
}

function textOf(attributes: NonNullable<Message["MessageAttributes"]>): Record<string, string> {
  const text: [string, string][] = [];
  for (const [name, { DataType, StringValue }] of Object.entries(attributes)) {
    if (StringValue !== undefined && !DataType?.startsWith("Binary"))
      text.push([name, StringValue]);
  }
  return Object.fromEntries(text);
}
