// Endpoint: one embedded cloud for a file of conformance tests, and the three ways to call it: the
// AWS SDK as it comes from npm, JSON by hand, and the query protocol by hand.
//   E1. The SDK gets an endpoint, a region and credentials, and nothing else: no test may need a
//       client that was told to be lenient.
//   E2. Time stands still unless a test moves it, so nothing here waits for time to pass.
//   E3. Every test makes queues of its own; names never repeat within a file.

import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { startCloud, type VirtualCloud } from "../../src/api/cloud.ts";

export const ACCOUNT = "000000000000";
export const REGION = "us-east-1";

export type Attributes = Readonly<Record<string, string>>;

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface QueryOptions {
  readonly path?: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface UnderWay<T> {
  readonly answer: Promise<T>;
  /** Aborts when the server has heard that the client is gone. */
  readonly signal: AbortSignal;
}

export interface Endpoint {
  readonly cloud: VirtualCloud;
  readonly sqs: SQS;
  readonly url: string;
  /** Moves the clock on. */
  pass(seconds: number): Promise<void>;
  /** A new queue of its own; FIFO if an attribute says so. Gives its URL. */
  queue(attributes?: Attributes, tags?: Readonly<Record<string, string>>): Promise<string>;
  fifo(attributes?: Attributes): Promise<string>;
  /** A name that no queue has had. */
  freshName(): string;
  attribute(queueUrl: string, name: string): Promise<string | undefined>;
  /** The JSON protocol by hand; `input` may be text that is no JSON. */
  json(action: string, input: object | string, options?: QueryOptions): Promise<RawAnswer>;
  /** The query protocol by hand. */
  query(parameters: Readonly<Record<string, string>>, options?: QueryOptions): Promise<RawAnswer>;
  /** Starts a call that will wait, and comes back once the server has it. */
  underWay<T>(call: () => Promise<T>): Promise<UnderWay<T>>;
}

/** Starts a cloud before the file's tests and closes it behind them. */
export function useEndpoint(): Endpoint {
  let started: { cloud: VirtualCloud; sqs: SQS } | null = null;
  let count = 0;
  beforeAll(async () => {
    const cloud = await startCloud({ memory: true, clock: "virtual" }); // E2
    started = { cloud, sqs: createSdkClient(cloud.endpoint) };
  });
  afterAll(async () => {
    started?.sqs.destroy();
    await started?.cloud.close();
  });
  const running = () => {
    if (started === null) throw new Error("the endpoint is only there while tests run");
    return started;
  };
  const endpoint: Endpoint = {
    get cloud() {
      return running().cloud;
    },
    get sqs() {
      return running().sqs;
    },
    get url() {
      return running().cloud.endpoint;
    },
    pass: (seconds) => running().cloud.clock.advance(seconds * 1_000),
    freshName: () => `queue-${++count}`, // E3
    async queue(attributes = {}, tags) {
      const suffix = attributes.FifoQueue === "true" ? ".fifo" : "";
      const request = { QueueName: endpoint.freshName() + suffix, Attributes: { ...attributes } };
      const created = await running().sqs.createQueue({ ...request, ...(tags && { tags }) });
      return created.QueueUrl!;
    },
    fifo: (attributes = {}) => endpoint.queue({ FifoQueue: "true", ...attributes }),
    async attribute(QueueUrl, name) {
      const request = { QueueUrl, AttributeNames: [name as "All"] };
      const { Attributes } = await running().sqs.getQueueAttributes(request);
      return (Attributes as Record<string, string> | undefined)?.[name];
    },
    json: (action, input, options) => sendJson(running().cloud.endpoint, action, input, options),
    query: (parameters, options) => sendQuery(running().cloud.endpoint, parameters, options),
    underWay: (call) => startCall(running().cloud, call),
  };
  return endpoint;
}

/** The SDK's client, told where to call and nothing more (E1). */
export function createSdkClient(endpoint: string): SQS {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return new SQS({ endpoint, region: REGION, credentials });
}

export function arnOf(queueUrl: string): string {
  return `arn:aws:sqs:${REGION}:${ACCOUNT}:${queueUrl.slice(queueUrl.lastIndexOf("/") + 1)}`;
}

export interface Failure {
  /** The shape that the SDK chooses its exception class by. */
  readonly shape: string;
  /** The code of the query protocol, which the JSON protocol tells in a header. */
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

/** What the SDK makes of a refused call; fails when the call was not refused. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === "fulfilled") {
    throw new Error(`the call was not refused: ${JSON.stringify(outcome.value)}`);
  }
  const { __type: type, Code: code, message, $metadata: metadata } = outcome.reason;
  if (typeof type !== "string") throw outcome.reason;
  const shape = type.slice(type.indexOf("#") + 1);
  return { shape, code, message, status: metadata.httpStatusCode };
}

async function sendJson(
  url: string,
  action: string,
  input: object | string,
  options: QueryOptions = {},
): Promise<RawAnswer> {
  const reply = await fetch(new URL(options.path ?? "/", url), {
    method: options.method ?? "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `AmazonSQS.${action}`,
      ...options.headers,
    },
    body: typeof input === "string" ? input : JSON.stringify(input),
  });
  return { status: reply.status, headers: reply.headers, body: await reply.text() };
}

async function sendQuery(
  url: string,
  parameters: Readonly<Record<string, string>>,
  options: QueryOptions = {},
): Promise<RawAnswer> {
  const target = new URL(options.path ?? "/", url);
  const form = new URLSearchParams(parameters);
  const { method = "POST", headers = {} } = options;
  if (method === "GET") target.search = form.toString();
  const reply = await fetch(target, { method, headers, ...(method === "POST" && { body: form }) });
  return { status: reply.status, headers: reply.headers, body: await reply.text() };
}

async function startCall<T>(cloud: VirtualCloud, call: () => Promise<T>): Promise<UnderWay<T>> {
  const submit = vi.spyOn(cloud.broker, "submit");
  const answer = call();
  answer.catch(() => {}); // Whoever awaits it hears of it; until then it is nobody's.
  await vi.waitFor(() => expect(submit).toHaveBeenCalled());
  const signal = submit.mock.calls[0]![2]!;
  submit.mockRestore();
  return { answer, signal };
}
