// Endpoint: one embedded cloud for a file of conformance tests, and three ways to call it: the AWS
// SDK from npm, hand-written JSON, and hand-written query requests.
//   E1. The SDK gets an endpoint, a region and credentials, and nothing else: no test may depend on
//       a client that is configured to be lenient.
//   E2. Time only moves when a test advances it, so no test waits for time to pass.
//   E3. Every test creates its own queues; names never repeat within a file.

import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";
import { eventually } from "./eventually.ts";

export const ACCOUNT = "000000000000";
export const REGION = "us-east-1";

export type Attributes = Readonly<Record<string, string>>;

/** A response as received. */
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

export interface InFlightCall<T> {
  readonly answer: Promise<T>;
  /** Aborts when the server has noticed that the client disconnected. */
  readonly signal: AbortSignal;
}

export interface Endpoint {
  readonly cloud: VirtualCloud;
  readonly sqs: SQS;
  readonly url: string;
  /** Advances the clock. */
  pass(seconds: number): Promise<void>;
  /** Creates a queue, FIFO if an attribute says so, and returns its URL. */
  queue(attributes?: Attributes, tags?: Readonly<Record<string, string>>): Promise<string>;
  fifo(attributes?: Attributes): Promise<string>;
  /** A queue name that was never used before. */
  freshName(): string;
  attribute(queueUrl: string, name: string): Promise<string | undefined>;
  /** A hand-written JSON request; `input` may be text that is not JSON. */
  json(action: string, input: object | string, options?: QueryOptions): Promise<RawAnswer>;
  /** A hand-written query request. */
  query(parameters: Readonly<Record<string, string>>, options?: QueryOptions): Promise<RawAnswer>;
  /** Starts a call that will wait, and resolves once the server has received it. */
  inFlight<T>(call: () => Promise<T>): Promise<InFlightCall<T>>;
}

/** Starts a cloud before the tests of a file and closes it after them. */
export function useEndpoint(): Endpoint {
  let started: { cloud: VirtualCloud; sqs: SQS } | null = null;
  let count = 0;
  beforeAll(async () => {
    const cloud = await startCloud({
      memory: true,
      clock: "virtual", // E2
      allowedHosts: ["queue.example"],
    });
    started = { cloud, sqs: createSdkClient(cloud.endpoint) };
  });
  afterAll(async () => {
    started?.sqs.destroy();
    await started?.cloud.close();
  });
  const running = () => {
    if (started === null) throw new Error("the endpoint only exists while tests run");
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
    inFlight: (call) => startCall(running().cloud, call),
  };
  return endpoint;
}

/** An SDK client with an endpoint and no other configuration (E1). */
export function createSdkClient(endpoint: string): SQS {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return new SQS({ endpoint, region: REGION, credentials });
}

export function arnOf(queueUrl: string): string {
  return `arn:aws:sqs:${REGION}:${ACCOUNT}:${queueUrl.slice(queueUrl.lastIndexOf("/") + 1)}`;
}

export interface Failure {
  /** The shape by which the SDK chooses its exception class. */
  readonly shape: string;
  /** The code of the query protocol; the JSON protocol has it in a header. */
  readonly code: string;
  readonly status: number;
  readonly message: string;
}

/** The SDK's error for a refused call; throws if the call was not refused. */
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

/** The broker that HTTP requests reach; `cloud.broker` wraps it in faults per operation. */
export function brokerBehindHttp(cloud: VirtualCloud): VirtualCloud["broker"] {
  return Object.getPrototypeOf(cloud.broker) as VirtualCloud["broker"];
}

async function startCall<T>(cloud: VirtualCloud, call: () => Promise<T>): Promise<InFlightCall<T>> {
  const submit = vi.spyOn(brokerBehindHttp(cloud), "submit");
  const answer = call();
  answer.catch(() => {}); // The caller awaits it later; until then, avoid an unhandled rejection.
  await eventually(() => expect(submit).toHaveBeenCalled());
  const signal = submit.mock.calls[0]![2]!;
  submit.mockRestore();
  return { answer, signal };
}
