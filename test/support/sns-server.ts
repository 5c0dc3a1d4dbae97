// SNS server: a cloud with the AWS SDK's clients for SNS and SQS, and an http endpoint to notify.

import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import {
  CreateTopicCommand,
  PublishCommand,
  type PublishCommandInput,
  SNSClient,
  SubscribeCommand,
} from "@aws-sdk/client-sns";
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { CloudOptions } from "../../src/cloud/cloud-options.ts";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";

export const TOPIC_PREFIX = "arn:aws:sns:us-east-1:000000000000:";
export const QUEUE_PREFIX = "arn:aws:sqs:us-east-1:000000000000:";

export interface SnsServer extends AsyncDisposable {
  readonly cloud: VirtualCloud;
  readonly sns: SNSClient;
  readonly sqs: SQSClient;
  /** Creates a topic, FIFO if its name ends in .fifo, and returns its ARN. */
  topic(name: string, attributes?: Record<string, string>): Promise<string>;
  /** Creates a queue and returns its ARN. */
  queue(name: string, attributes?: Record<string, string>): Promise<string>;
  subscribe(topic: string, queue: string, attributes?: Record<string, string>): Promise<string>;
  publish(topic: string, input?: Partial<PublishCommandInput>): Promise<string>;
  /** Receives and deletes all messages of a queue. */
  drain(queueArn: string): Promise<Message[]>;
  /** The code, status and message of a refused call. */
  refusal(call: Promise<unknown>): Promise<Refusal>;
  /** Posts a form, as a client without an SDK would. */
  form(parameters: Record<string, string>, headers?: Record<string, string>): Promise<Response>;
}

export interface Refusal {
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

export async function openSnsServer(options: CloudOptions = {}): Promise<SnsServer> {
  const cloud = await startCloud({ ...options, clock: "virtual" });
  const settings = {
    endpoint: cloud.endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "any", secretAccessKey: "any" },
    maxAttempts: 1,
  };
  const sns = new SNSClient(settings);
  const sqs = new SQSClient(settings);
  const fifo = (name: string, kind: string): Record<string, string> =>
    name.endsWith(".fifo") ? { [kind]: "true" } : {};
  return {
    cloud,
    sns,
    sqs,
    async topic(Name, attributes = {}) {
      const Attributes = { ...fifo(Name, "FifoTopic"), ...attributes };
      return (await sns.send(new CreateTopicCommand({ Name, Attributes }))).TopicArn as string;
    },
    async queue(QueueName, attributes = {}) {
      const Attributes = { ...fifo(QueueName, "FifoQueue"), ...attributes };
      await sqs.send(new CreateQueueCommand({ QueueName, Attributes }));
      return QUEUE_PREFIX + QueueName;
    },
    async subscribe(TopicArn, Endpoint, Attributes = {}) {
      const input = { TopicArn, Endpoint, Attributes, Protocol: "sqs" };
      return (await sns.send(new SubscribeCommand(input))).SubscriptionArn as string;
    },
    async publish(TopicArn, input = {}) {
      const sent = await sns.send(new PublishCommand({ TopicArn, Message: "hello", ...input }));
      return sent.MessageId as string;
    },
    drain: (queueArn) => drain(sqs, cloud.endpoint, queueArn),
    refusal: readRefusal,
    form: (parameters, headers = {}) =>
      fetch(cloud.endpoint, { method: "POST", headers, body: new URLSearchParams(parameters) }),
    async [Symbol.asyncDispose]() {
      sns.destroy();
      sqs.destroy();
      await cloud.close();
    },
  };
}

async function drain(sqs: SQSClient, endpoint: string, queueArn: string): Promise<Message[]> {
  const QueueUrl = `${endpoint}/000000000000/${queueArn.split(":").at(-1)}`;
  const all: Message[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ["All"],
        MessageAttributeNames: ["All"],
      }),
    );
    if (Messages.length === 0) return all;
    all.push(...Messages);
    for (const { ReceiptHandle } of Messages) {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
  }
}

interface SdkError {
  readonly Code?: string;
  readonly Error?: { readonly Code?: string };
  readonly message: string;
  readonly name: string;
  readonly $metadata: { readonly httpStatusCode: number };
}

async function readRefusal(call: Promise<unknown>): Promise<Refusal> {
  const error = (await call.then(
    () => null,
    (reason: unknown) => reason,
  )) as SdkError | null;
  if (error === null) throw new Error("the call was not refused");
  const code = error.Error?.Code ?? error.Code ?? error.name;
  return { code, status: error.$metadata.httpStatusCode, message: error.message };
}

export interface HttpEndpoint extends AsyncDisposable {
  readonly url: string;
  readonly requests: { readonly headers: IncomingHttpHeaders; readonly body: string }[];
  /** The status of the next responses. */
  status: number;
}

/** An http endpoint on this machine that records its requests. */
export async function openEndpoint(): Promise<HttpEndpoint> {
  const requests: HttpEndpoint["requests"] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(endpoint.status).end("thanks");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint: HttpEndpoint = {
    url: `http://127.0.0.1:${port}/hook`,
    requests,
    status: 200,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return endpoint;
}
