// Open target: the queue or topic to which the rows of an outbox are sent.
//   T1. Without an endpoint, the embedded cloud that runs on the data folder is used, if the ledger
//       is that folder's (L1 of dead-letter-session.ts).

import { TidegateError } from "../../core/errors.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { TopicPublisher } from "../../ports/topic.ts";
import { clientOptions } from "./aws-environment.ts";
import { findRunningCloud } from "./endpoint-file.ts";

export interface TargetLocation {
  /** Name, URL or ARN of a queue. */
  readonly queue?: string | undefined;
  /** ARN of a topic. */
  readonly topic?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Folder of a cloud that may be running. */
  readonly data: string;
  /** Whether the ledger or outbox is another one than that folder's. */
  readonly elsewhere: boolean;
}

export interface OpenedTarget {
  readonly target: Queue | TopicPublisher;
  close(): Promise<void>;
}

const CLOUD_REGION = "us-east-1";

export async function openTarget(location: TargetLocation): Promise<OpenedTarget> {
  const { queue, topic } = location;
  if ((queue === undefined) === (topic === undefined)) {
    const message = "a target is needed: name either --queue or --topic";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  const server = await targetServerOf(location);
  return topic === undefined
    ? await openQueue(queue ?? "", server)
    : await openTopic(topic, server);
}

export interface Server {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
}

/** Where SQS and SNS are (T1). */
export async function targetServerOf({
  endpoint,
  region,
  data,
  elsewhere,
}: Omit<TargetLocation, "queue" | "topic">): Promise<Server> {
  const { AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_SQS, AWS_ENDPOINT_URL_SNS } = process.env;
  const given = endpoint ?? AWS_ENDPOINT_URL_SQS ?? AWS_ENDPOINT_URL_SNS ?? AWS_ENDPOINT_URL;
  const running = given === undefined && !elsewhere ? await findRunningCloud(data) : null;
  if (running === null) return { endpoint, region };
  return { endpoint: running, region: region ?? CLOUD_REGION };
}

async function openQueue(queue: string, server: Server): Promise<OpenedTarget> {
  const [{ SQSClient }, { openSqsQueue }] = await load("@aws-sdk/client-sqs", () =>
    Promise.all([import("@aws-sdk/client-sqs"), import("../../aws/sqs/open-sqs-queue.ts")]),
  );
  const client = new SQSClient(clientOptions("SQS", server));
  const close = async () => client.destroy();
  try {
    return { target: await openSqsQueue({ client, queue }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openTopic(topicArn: string, server: Server): Promise<OpenedTarget> {
  const [{ SNSClient }, { createSnsTopic }] = await load("@aws-sdk/client-sns", () =>
    Promise.all([import("@aws-sdk/client-sns"), import("../../aws/sns/sns-topic.ts")]),
  );
  const client = new SNSClient(clientOptions("SNS", server));
  return { target: createSnsTopic({ client, topicArn }), close: async () => client.destroy() };
}

async function load<T>(name: string, modules: () => Promise<T>): Promise<T> {
  try {
    return await modules();
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const message = `this target needs the AWS SDK: npm install ${name}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause: error });
  }
}
