// Open target: the queue or topic to which the rows of an outbox are sent.

import { TidegateError } from "../../core/errors.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { TopicPublisher } from "../../ports/topic.ts";
import { clientOptions, type Server } from "./find-server.ts";

export interface TargetLocation {
  /** Name, URL or ARN of a queue. */
  readonly queue?: string | undefined;
  /** ARN of a topic. */
  readonly topic?: string | undefined;
  readonly server: Server;
}

export interface OpenedTarget {
  readonly target: Queue | TopicPublisher;
  close(): Promise<void>;
}

export async function openTarget({ queue, topic, server }: TargetLocation): Promise<OpenedTarget> {
  if ((queue === undefined) === (topic === undefined)) {
    const message = "a target is needed: name either a queue or a topic";
    throw new TidegateError("TG_CONFIG_INVALID", message);
  }
  return topic === undefined
    ? await openQueue(queue ?? "", server)
    : await openTopic(topic, server);
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
