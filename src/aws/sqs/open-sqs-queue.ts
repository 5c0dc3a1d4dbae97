// Open SQS queue: by URL, by name, or by ARN, which redrive policies use for the dead-letter queue.

import { GetQueueUrlCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { refuseConfig } from "../../core/errors.ts";
import { parseQueueArn } from "../../core/queue-arn.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import { asked } from "../request-deadline.ts";
import { createSqsQueue } from "./sqs-queue.ts";

const QUEUE_NAME = /^[\w-]{1,80}(?:\.fifo)?$/;

/** Names a queue to look up. */
export interface OpenSqsQueueOptions {
  readonly client: SQSClient;
  /** URL, name or ARN; the client looks up names and ARNs. */
  readonly queue: string;
}

/** Throws TG_QUEUE_REFUSED if the queue does not exist; a URL is not checked. */
export async function openSqsQueue(options: OpenSqsQueueOptions): Promise<Queue> {
  return createSqsQueue({ client: options.client, queueUrl: await findQueueUrl(options) });
}

/** The URL of a queue. */
export async function findQueueUrl({ client, queue }: OpenSqsQueueOptions): Promise<string> {
  if (/^https?:\/\//.test(queue)) return queue;
  const arn = parseQueueArn(queue);
  const name = arn?.name ?? queue;
  if (!QUEUE_NAME.test(name)) {
    refuseConfig(`${JSON.stringify(queue)} is not the name, URL or ARN of a queue`);
  }
  const owner = arn === null ? {} : { QueueOwnerAWSAccountId: arn.account };
  const command = new GetQueueUrlCommand({ QueueName: name, ...owner });
  const answer = await asked(name, (abortSignal) => client.send(command, { abortSignal }));
  return answer.QueueUrl ?? "";
}
