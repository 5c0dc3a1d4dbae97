// The objects sink through the AWS SDK, on the embedded cloud, and the answers of S3 that it never
// gives: 409 while another conditional write is in progress, and 403.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  CreateBucketCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createS3ObjectWriter } from "../../src/aws/s3/s3-object-writer.ts";
import { type Cloud, startCloud } from "../../src/cloud/start-cloud.ts";
import { describeObjectsSink } from "./objects-sink.ts";

const bucket = "results";
const credentials = { accessKeyId: "any", secretAccessKey: "any" };
const signal = new AbortController().signal;
let cloud: Cloud;
let client: S3Client;

const clientOf = (endpoint: string) =>
  new S3Client({
    endpoint,
    region: "us-east-1",
    credentials,
    forcePathStyle: true,
    maxAttempts: 1,
  });

beforeAll(async () => {
  cloud = await startCloud({ memory: true });
  client = clientOf(cloud.endpoint);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
});

afterAll(async () => {
  client.destroy();
  await cloud.close();
});

describeObjectsSink({
  name: "the embedded S3",
  bucket,
  open: async () => createS3ObjectWriter({ client }),
  async read(key) {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      return await Body?.transformToString();
    } catch (error) {
      if ((error as Error).name === "NoSuchKey") return undefined;
      throw error;
    }
  },
  async putForeign(key, body) {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
  },
});

const object = { bucket, key: "k", bytes: new Uint8Array(), contentType: null, metadata: {} };

/** Calls `use` with a writer to a server that gives every request the answer of that moment. */
async function withAnswers(
  answer: { status: number; body: string },
  use: (writer: ReturnType<typeof createS3ObjectWriter>) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(answer.status, { "content-type": "application/xml" });
      response.end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const s3 = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    await use(createS3ObjectWriter({ client: s3 }));
  } finally {
    s3.destroy();
    server.close();
  }
}

const errorBody = (code: string) => `<Error><Code>${code}</Code><Message>m</Message></Error>`;

test("409 is a conflict, 404 on an ETag means that the object is gone, 403 is refused", async () => {
  const answer = { status: 409, body: errorBody("ConditionalRequestConflict") };
  await withAnswers(answer, async (writer) => {
    const write = () => writer.write({ ...object, condition: { etag: '"e"' } }, signal);
    expect(await write()).toBe("conflict");
    answer.status = 404;
    expect(await write()).toBe("exists");
    answer.status = 403;
    await expect(write()).rejects.toMatchObject({ code: "TG_SINK_REFUSED" });
    answer.status = 500;
    await expect(write()).rejects.toMatchObject({ code: "TG_SINK_UNAVAILABLE" });
  });
});

test.each([
  ["an error page", "<html><body>not found</body></html>"],
  ["no body", ""],
  ["a missing access point", errorBody("NoSuchAccessPoint")],
  ["a missing bucket", errorBody("NoSuchBucket")],
  ["a missing key", errorBody("NoSuchKey")],
])("404 with %s never says that a new object is stored (S1)", async (_title, body) => {
  await withAnswers({ status: 404, body }, async (writer) => {
    const writing = writer.write({ ...object, condition: { absent: true } }, signal);
    await expect(writing).rejects.toMatchObject({ code: "TG_SINK_UNAVAILABLE" });
  });
});

test("a bucket that does not exist, and an endpoint that is down, are reported as unavailable", async () => {
  const missing = { ...object, bucket: "none", condition: { absent: true as const } };
  const writing = createS3ObjectWriter({ client }).write(missing, signal);
  await expect(writing).rejects.toMatchObject({ code: "TG_SINK_UNAVAILABLE" });
  const down = createS3ObjectWriter({ client: clientOf("http://127.0.0.1:1") });
  await expect(down.look(bucket, "k", signal)).rejects.toMatchObject({
    code: "TG_SINK_UNAVAILABLE",
  });
});
