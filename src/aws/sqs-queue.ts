// SQS queue: both ends of a queue of Amazon's, or of any that speaks its protocol.
//   A1. Every request has a deadline of its own, longer than the queue may wait by agreement: a
//       connection that died without a word would otherwise hold its caller for ever.
//   A2. Seconds are rounded up, so that nothing comes back earlier than was asked for.
//   A3. System attributes are asked for by name: without that SQS tells none of them.

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
import { TidegateError } from "../core/errors.ts";
import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
  SQS_RECEIVE_MESSAGES_MAX,
  SQS_RECEIVE_WAIT_MS_MAX,
  SQS_VISIBILITY_MS_MAX,
} from "../core/limits.ts";
import { QUEUE_FACT_ATTRIBUTES, queueFactsOf } from "../core/queue-facts.ts";
import { traceHeaderOf } from "../core/trace-context.ts";
import { type DurationMs, durationMs, epochMs, seconds } from "../core/units.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type { Delivery, Queue, QueueReceiver } from "../ports/queue-receiver.ts";
import { queueFault, refusedEntry, settleOutcomes, UNANSWERED } from "./faults.ts";
import { withDeadline } from "./request-deadline.ts";

export interface SqsQueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** The queue's own MaximumMessageSize, if it is lower than 1 MiB. */
  readonly messageBytesMax?: number;
}

/** What a request may take, the SDK's own retries included; a receive may wait besides. A1 */
export const REQUEST_MS_MAX: DurationMs = seconds(10);

const SYSTEM_ATTRIBUTES = [
  "AWSTraceHeader",
  "MessageGroupId",
  "SentTimestamp",
  "ApproximateReceiveCount",
  "DeadLetterQueueSourceArn",
] as const;

export function createSqsQueue(options: SqsQueueOptions): Queue {
  const { client, queueUrl, messageBytesMax = SQS_MESSAGE_BYTES_MAX } = options;
  const name = queueUrl.split("/").at(-1) ?? "";
  if (!URL.canParse(queueUrl) || name === "") {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(queueUrl)} is no queue URL`);
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
      const sent = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      const outcomes = new Map<string | undefined, SendOutcome>();
      for (const { Id, MessageId = "", SequenceNumber = null } of sent.Successful ?? []) {
        outcomes.set(Id, { kind: "sent", messageId: MessageId, sequenceNumber: SequenceNumber });
      }
      for (const failed of sent.Failed ?? []) outcomes.set(failed.Id, refusedEntry(failed));
      return Entries.map(({ Id }) => outcomes.get(Id) ?? UNANSWERED);
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
      return settleOutcomes(receipts.length, answer);
    },
    async changeVisibility(changes) {
      const Entries = changes.map(({ receipt, visibilityMs }, at) => ({
        Id: String(at),
        ReceiptHandle: receipt,
        VisibilityTimeout: wholeSeconds(visibilityMs, SQS_VISIBILITY_MS_MAX),
      }));
      const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return settleOutcomes(changes.length, answer);
    },
    async facts() {
      const AttributeNames = [...QUEUE_FACT_ATTRIBUTES];
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames });
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return queueFactsOf(answer.Attributes ?? {});
    },
  };
}

/** Asks for something that does not wait; failures come out as the port names them. */
async function asked<T>(name: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await withDeadline(ask, REQUEST_MS_MAX);
  } catch (error) {
    throw queueFault(error, name);
  }
}

function wholeSeconds(span: DurationMs, max: DurationMs): number {
  return Math.ceil(Math.min(Math.max(span, 0), max) / 1_000); // A2
}

function entryOf(message: OutgoingMessage, at: number): SendMessageBatchRequestEntry {
  const { body, attributes, groupId, dedupId } = message;
  const entry: SendMessageBatchRequestEntry = { Id: String(at), MessageBody: body };
  const named = Object.entries(attributes);
  if (named.length > 0) {
    entry.MessageAttributes = Object.fromEntries(
      named.map(([name, value]) => [name, { DataType: "String", StringValue: value }]),
    );
  }
  const trace = traceHeaderOf(attributes);
  if (trace !== null) {
    entry.MessageSystemAttributes = {
      AWSTraceHeader: { DataType: "String", StringValue: trace },
    };
  }
  if (groupId !== null) entry.MessageGroupId = groupId;
  if (dedupId !== null) entry.MessageDeduplicationId = dedupId;
  return entry;
}

function deliveryOf(message: Message): Delivery {
  const { MessageId = "", ReceiptHandle = "", Body = "", Attributes: told = {} } = message;
  return {
    messageId: MessageId,
    receipt: ReceiptHandle,
    body: Body,
    attributes: textOf(message.MessageAttributes ?? {}),
    traceHeader: told.AWSTraceHeader ?? null,
    groupId: told.MessageGroupId ?? null,
    sentAt: epochMs(Number(told.SentTimestamp ?? Date.now())),
    receiveCount: Number(told.ApproximateReceiveCount ?? 1),
    movedFrom: told.DeadLetterQueueSourceArn ?? null,
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
