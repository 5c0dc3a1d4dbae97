// SNS topic: a topic of SNS, or of a compatible server, as the target of a producer.

import { PublishBatchCommand, type SNSClient } from "@aws-sdk/client-sns";
import { TidegateError } from "../../core/errors.ts";
import { SNS_BATCH_ENTRIES_MAX, SNS_MESSAGE_BYTES_DEFAULT } from "../../core/limits.ts";
import type { TopicPublisher } from "../../ports/topic.ts";
import { asked } from "../request-deadline.ts";
import { sendEntry, sendOutcomes } from "../send-batch.ts";

/** Names a topic by its ARN, which is not looked up. */
export interface SnsTopicOptions {
  readonly client: SNSClient;
  readonly topicArn: string;
  /** The topic's MaximumMessageSize, if it is above 256 KiB. */
  readonly messageBytesMax?: number;
}

const TOPIC_ARN = /^arn:[\w-]+:sns:[\w-]+:\d{12}:([\w-]{1,256}(?:\.fifo)?)$/;

/** A topic of SNS, or of any compatible endpoint, as the target of a producer. */
export function createSnsTopic(options: SnsTopicOptions): TopicPublisher {
  const { client, topicArn, messageBytesMax = SNS_MESSAGE_BYTES_DEFAULT } = options;
  const name = TOPIC_ARN.exec(topicArn)?.[1];
  if (name === undefined) {
    throw new TidegateError("TG_CONFIG_INVALID", `${JSON.stringify(topicArn)} is not a topic ARN`);
  }
  return {
    kind: "topic",
    name,
    fifo: name.endsWith(".fifo"),
    // A whole batch has the size limit of one message.
    limits: { entriesMax: SNS_BATCH_ENTRIES_MAX, batchBytesMax: messageBytesMax, messageBytesMax },
    async sendBatch(messages) {
      const entries = messages.map((message, at) => {
        return { ...sendEntry(message, at), Message: message.body };
      });
      const batch = { TopicArn: topicArn, PublishBatchRequestEntries: entries };
      const command = new PublishBatchCommand(batch);
      const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
      return sendOutcomes(messages.length, answer);
    },
  };
}
