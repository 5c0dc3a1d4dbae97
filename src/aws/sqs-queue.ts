// SQS queue: Amazon's, or any that speaks its protocol, as a producer's target.

import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { TidegateError } from "../core/errors.ts";
import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
} from "../core/limits.ts";
import type { OutgoingMessage, QueueSender, SendOutcome } from "../ports/queue.ts";
import { refusedEntry, sendFault, UNANSWERED } from "./faults.ts";

export interface SqsQueueOptions {
  readonly client: SQSClient;
  readonly queueUrl: string;
  /** The queue's own MaximumMessageSize, if it is lower than 1 MiB. */
  readonly messageBytesMax?: number;
}

export function createSqsQueue(options: SqsQueueOptions): QueueSender {
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
      const sent = await client
        .send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }))
        .catch((error: unknown) => {
          throw sendFault(error, name);
        });
      const outcomes = new Map<string | undefined, SendOutcome>();
      for (const { Id, MessageId = "", SequenceNumber = null } of sent.Successful ?? []) {
        outcomes.set(Id, { kind: "sent", messageId: MessageId, sequenceNumber: SequenceNumber });
      }
      for (const failed of sent.Failed ?? []) outcomes.set(failed.Id, refusedEntry(failed));
      return Entries.map(({ Id }) => outcomes.get(Id) ?? UNANSWERED);
    },
  };
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
  if (groupId !== null) entry.MessageGroupId = groupId;
  if (dedupId !== null) entry.MessageDeduplicationId = dedupId;
  return entry;
}
