// AWS cloud: the queues of an operator from SQS, on AWS or any compatible endpoint. SQS cannot show
// messages without receiving them, and topics and buckets have AWS's own console.
//   A1. With a queue, only the queues of the pipeline are listed: the operator's role may read
//       them, and may not list those of the account.

import type { SQSClient } from "@aws-sdk/client-sqs";
import { reasonOf, TidegateError } from "../../core/errors.ts";
import { clientOptions, type Server } from "../../run/open/find-server.ts";
import {
  type CloudContents,
  type CloudRoles,
  deadLetterQueueIn,
  type QueueSummary,
  roleOf,
} from "./embedded-cloud.ts";

export interface AwsCloud extends CloudContents {
  close(): Promise<void>;
}

type Attributes = Readonly<Record<string, string>>;
type Sdk = typeof import("@aws-sdk/client-sqs");

interface Reader {
  readonly aws: Sdk;
  readonly client: SQSClient;
  readonly roles: CloudRoles;
}

export async function openAwsCloud(server: Server, roles: CloudRoles): Promise<AwsCloud> {
  const aws = await import("@aws-sdk/client-sqs").catch(() => {
    const message = "queues on AWS need the AWS SDK: npm install @aws-sdk/client-sqs";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  });
  const client = new aws.SQSClient(clientOptions("SQS", server));
  const reader = { aws, client, roles };
  return {
    ...readsOf(reader),
    ...writesOf(reader),
    messages: null,
    topics: null,
    buckets: null,
    objects: null,
    upload: null,
    async close() {
      client.destroy();
    },
  };
}

/** Null if the queue does not exist. */
async function urlOf({ aws, client }: Reader, name: string): Promise<string | null> {
  try {
    const { QueueUrl } = await client.send(new aws.GetQueueUrlCommand({ QueueName: name }));
    return QueueUrl ?? null;
  } catch (error) {
    if (error instanceof aws.QueueDoesNotExist) return null;
    throw new TidegateError("TG_QUEUE_UNAVAILABLE", `${name}: ${reasonOf(error)}`);
  }
}

async function attributesAt({ aws, client }: Reader, url: string): Promise<Attributes> {
  const command = new aws.GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ["All"] });
  return (await client.send(command)).Attributes ?? {};
}

async function ownQueues(reader: Reader, prefix: string): Promise<QueueSummary[]> {
  const { queue, deadLetterQueue, lateQueue } = reader.roles;
  const names = [queue, deadLetterQueue, lateQueue].filter((name) => name !== null);
  const summaries: QueueSummary[] = [];
  for (const name of names.filter((each) => each.startsWith(prefix)).toSorted()) {
    const url = await urlOf(reader, name);
    if (url === null) continue;
    summaries.push(summaryOf(reader.roles, name, await attributesAt(reader, url)));
  }
  return summaries;
}

function readsOf(reader: Reader): Pick<AwsCloud, "figures" | "queues" | "queue"> {
  const { aws, client, roles } = reader;
  const summaryAt = async (url: string) =>
    summaryOf(roles, nameIn(url), await attributesAt(reader, url));
  return {
    async figures(name) {
      const url = await urlOf(reader, name);
      return url === null ? null : await summaryAt(url);
    },
    async queues(prefix, { cursor, limit }) {
      // A1
      if (roles.queue !== null) return { queues: await ownQueues(reader, prefix), next: null };
      const page = new aws.ListQueuesCommand({
        MaxResults: limit,
        ...(prefix !== "" && { QueueNamePrefix: prefix }),
        ...(cursor !== null && { NextToken: cursor }),
      });
      const { QueueUrls = [], NextToken } = await client.send(page);
      return { queues: await Promise.all(QueueUrls.map(summaryAt)), next: NextToken ?? null };
    },
    async queue(name) {
      const url = await urlOf(reader, name);
      if (url === null) return null;
      const attributes = await attributesAt(reader, url);
      const summary = summaryOf(roles, name, attributes);
      return { ...summary, sources: [], attributes, peekable: false, moveTasks: [] };
    },
  };
}

function writesOf(reader: Reader): Pick<AwsCloud, "send" | "purge" | "redrive"> {
  const { aws, client } = reader;
  return {
    async send(name, order) {
      const url = await urlOf(reader, name);
      if (url === null) return null;
      const attributes = Object.entries(order.attributes ?? {}).map(([key, StringValue]) => {
        return [key, { DataType: "String", StringValue }];
      });
      const { MessageId = "" } = await client.send(
        new aws.SendMessageCommand({
          QueueUrl: url,
          MessageBody: order.body,
          MessageAttributes: Object.fromEntries(attributes),
          MessageGroupId: order.groupId,
          MessageDeduplicationId: order.deduplicationId,
          DelaySeconds: order.delaySeconds,
        }),
      );
      return { messageId: MessageId };
    },
    async purge(name) {
      const url = await urlOf(reader, name);
      if (url !== null) await client.send(new aws.PurgeQueueCommand({ QueueUrl: url }));
      return url !== null;
    },
    async redrive(name, perSecond) {
      const url = await urlOf(reader, name);
      if (url === null) return false;
      const { QueueArn } = await attributesAt(reader, url);
      await client.send(
        new aws.StartMessageMoveTaskCommand({
          SourceArn: QueueArn,
          ...(perSecond !== null && { MaxNumberOfMessagesPerSecond: perSecond }),
        }),
      );
      return true;
    },
  };
}

function nameIn(url: string): string {
  return url.split("/").at(-1) ?? url;
}

function summaryOf(roles: CloudRoles, name: string, attributes: Attributes): QueueSummary {
  return {
    name,
    fifo: attributes.FifoQueue === "true",
    visible: Number(attributes.ApproximateNumberOfMessages ?? 0),
    delayed: Number(attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    inFlight: Number(attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
    oldestAgeMs: null,
    role: roleOf(roles, name),
    deadLetterQueue: deadLetterQueueIn(attributes.RedrivePolicy),
  };
}
