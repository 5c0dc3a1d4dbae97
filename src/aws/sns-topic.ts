// SNS topic: Amazon's, or any that speaks its protocol, as a producer's target.

import {
  PublishBatchCommand,
  type PublishBatchRequestEntry,
  type SNSClient,
} from "@aws-sdk/client-sns";
import { TidegateError } from "../core/errors.ts";
import { SNS_BATCH_ENTRIES_MAX, SNS_MESSAGE_BYTES_DEFAULT } from "../core/limits.ts";
import type { OutgoingMessage, SendOutcome } from "../ports/queue.ts";
import type { TopicPublisher } from "../ports/topic.ts";
import { queueFault, refusedEntry, UNANSWERED } from "./faults.ts";

export interface SnsTopicOptions {
  readonly client: SNSClient;
  readonly topicArn: string;
  /** The topic's own MaximumMessageSize, if it was raised above 256 KiB. */
  readonly messageBytesMax?: number;
}

const TOPIC_ARN = /^arn:[\w-]+:sns:[\w-]+:\d{12}:([\w-]{1,256}(?:\.fifo)?)$/;

export function createSnsTopic(options: SnsTopicOptions): TopicPublisher {
  const { client, topicArn, messageBytesMax = SNS_MESSAGE_BYTES_DEFAULT } = options;
  const name = TOPIC_ARN.exec(topicArn)?.[1];
  if (name === undefined) {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(topicArn)} is no topic ARN`);
  }
  return {
    kind: "topic",
    name,
    fifo: name.endsWith(".fifo"),
    // All entries of a batch together may have what one message may.
    limits: { entriesMax: SNS_BATCH_ENTRIES_MAX, batchBytesMax: messageBytesMax, messageBytesMax },
    async sendBatch(messages) {
      const PublishBatchRequestEntries = messages.map(entryOf);
      const sent = await client
        .send(new PublishBatchCommand({ TopicArn: topicArn, PublishBatchRequestEntries }))
        .catch((error: unknown) => {
          throw queueFault(error, name);
        });
      const outcomes = new Map<string | undefined, SendOutcome>();
      for (const { Id, MessageId = "", SequenceNumber = null } of sent.Successful ?? []) {
        outcomes.set(Id, { kind: "sent", messageId: MessageId, sequenceNumber: SequenceNumber });
      }
      for (const failed of sent.Failed ?? []) outcomes.set(failed.Id, refusedEntry(failed));
      return PublishBatchRequestEntries.map(({ Id }) => outcomes.get(Id) ?? UNANSWERED);
    },
  };
}

function entryOf(message: OutgoingMessage, at: number): PublishBatchRequestEntry {
  const { body, attributes, groupId, dedupId } = message;
  const entry: PublishBatchRequestEntry = { Id: String(at), Message: body };
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
