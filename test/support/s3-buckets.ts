// Buckets: one embedded cloud for a file of S3 tests, SDK clients, and hand-written requests.
//   B1. The SDK gets an endpoint, a region, credentials and path style, and nothing else.
//   B2. Time only moves when a test advances it.
//   B3. Every test creates its own buckets.

import { request as httpRequest } from "node:http";
import { S3 } from "@aws-sdk/client-s3";
import { SQS } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll } from "vitest";
import type { CloudOptions } from "../../src/cloud/cloud-options.ts";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";

export const REGION = "us-east-1";
export const ACCOUNT = "000000000000";
export const ETAG_OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e";
const CREDENTIALS = { accessKeyId: "test", secretAccessKey: "test" };

export interface RawS3Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The code of an S3 error document, or null. */
  readonly code: string | null;
}

export interface RawRequest {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface EventQueue {
  readonly arn: string;
  readonly url: string;
}

export interface Buckets {
  readonly cloud: VirtualCloud;
  readonly s3: S3;
  readonly sqs: SQS;
  readonly url: string;
  freshName(): string;
  /** Creates a bucket and returns its name. */
  bucket(): Promise<string>;
  versioned(): Promise<string>;
  queue(): Promise<EventQueue>;
  /** Receives and deletes all messages of a queue, and returns their JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages field by field.
  drain(queue: EventQueue): Promise<any[]>;
  raw(method: string, path: string, request?: RawRequest): Promise<RawS3Answer>;
}

export function createS3Client(endpoint: string): S3 {
  return new S3({ endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true }); // B1
}

export function useBuckets(options: Omit<CloudOptions, "clock"> = {}): Buckets {
  let started: { cloud: VirtualCloud; s3: S3; sqs: SQS } | null = null;
  let count = 0;
  beforeAll(async () => {
    const cloud = await startCloud({ ...options, clock: "virtual" }); // B2
    const { endpoint } = cloud;
    const sqs = new SQS({ endpoint, region: REGION, credentials: CREDENTIALS });
    started = { cloud, s3: createS3Client(endpoint), sqs };
  });
  afterAll(async () => {
    started?.s3.destroy();
    started?.sqs.destroy();
    await started?.cloud.close();
  });
  const running = () => {
    if (started === null) throw new Error("buckets only exist while tests run");
    return started;
  };
  const buckets: Buckets = {
    get cloud() {
      return running().cloud;
    },
    get s3() {
      return running().s3;
    },
    get sqs() {
      return running().sqs;
    },
    get url() {
      return running().cloud.endpoint;
    },
    freshName: () => `bucket-${++count}`, // B3
    async bucket() {
      const Bucket = buckets.freshName();
      await running().s3.createBucket({ Bucket });
      return Bucket;
    },
    async versioned() {
      const Bucket = await buckets.bucket();
      const VersioningConfiguration = { Status: "Enabled" as const };
      await running().s3.putBucketVersioning({ Bucket, VersioningConfiguration });
      return Bucket;
    },
    async queue() {
      const name = `events-${++count}`;
      const { QueueUrl = "" } = await running().sqs.createQueue({ QueueName: name });
      return { arn: `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`, url: QueueUrl };
    },
    drain: (queue) => drain(running().sqs, queue.url),
    raw: (method, path, request) => sendRaw(running().cloud.endpoint, method, path, request),
  };
  return buckets;
}

async function drain(sqs: SQS, QueueUrl: string): Promise<unknown[]> {
  const bodies: unknown[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
    if (Messages.length === 0) return bodies;
    for (const { Body = "", ReceiptHandle } of Messages) {
      bodies.push(JSON.parse(Body));
      await sqs.deleteMessage({ QueueUrl, ReceiptHandle });
    }
  }
}

/** Does not use fetch, which would resolve the dots of a path. */
export function sendRaw(
  endpoint: string,
  method: string,
  path: string,
  { body = "", headers = {} }: RawRequest = {},
): Promise<RawS3Answer> {
  const { hostname, port } = new URL(endpoint);
  const length = { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: { ...length, ...headers } };
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? null;
        const replyHeaders = new Headers(response.headers as Record<string, string>);
        resolve({ status: response.statusCode ?? 0, headers: replyHeaders, body: text, code });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

export interface S3Failure {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  /** The other fields of the error document. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The SDK's error for a refused call; throws if the call was not refused. */
export async function s3FailureOf(call: Promise<unknown>): Promise<S3Failure> {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === "fulfilled") throw new Error("the call was not refused");
  const { name, message, $metadata, ...fields } = outcome.reason;
  if ($metadata?.httpStatusCode === undefined) throw outcome.reason;
  return { code: name, status: $metadata.httpStatusCode, message, fields };
}

/** The bytes of a GetObject as text. */
export async function bodyTextOf(answer: Promise<{ Body?: unknown }>): Promise<string> {
  const { Body } = await answer;
  return (Body as { transformToString(): Promise<string> }).transformToString();
}
