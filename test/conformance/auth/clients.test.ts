// Unmodified clients sign with their own code, and a cloud with keys refuses all others.

import { Readable } from "node:stream";
import { PutObjectCommand, S3 } from "@aws-sdk/client-s3";
import { SNS } from "@aws-sdk/client-sns";
import { SQS } from "@aws-sdk/client-sqs";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { runChild } from "../../support/child-process.ts";
import { requirePart } from "../../support/requires.ts";
import { AUTH, KEY, TEMPORARY } from "../../support/signed-requests.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud({ memory: true, auth: AUTH });
});
afterAll(() => cloud.close());

type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

function clients(credentials: Credentials) {
  const options = { endpoint: cloud.endpoint, region: "us-east-1", credentials, maxAttempts: 1 };
  return {
    sqs: new SQS(options),
    sns: new SNS(options),
    s3: new S3({ ...options, forcePathStyle: true }),
  };
}

describe.each([KEY, TEMPORARY])("the AWS SDK with the key $accessKeyId", (key) => {
  test("sends and receives", async () => {
    const { sqs } = clients(key);
    const { QueueUrl } = await sqs.createQueue({ QueueName: `q-${key.accessKeyId}` });
    await sqs.sendMessage({ QueueUrl, MessageBody: "körper" });
    const { Messages } = await sqs.receiveMessage({
      QueueUrl,
      MessageSystemAttributeNames: ["SenderId"],
    });
    expect(Messages).toMatchObject([{ Body: "körper" }]);
    const { SenderId } = Messages![0]!.Attributes!;
    expect(SenderId).toMatch(key === KEY ? /^000000000000$/ : /^AROA[A-Z2-7]{17}:session$/);
  });

  test("publishes", async () => {
    const { sns } = clients(key);
    const { TopicArn } = await sns.createTopic({ Name: `t-${key.accessKeyId}` });
    expect(await sns.publish({ TopicArn, Message: "a+b & c" })).toHaveProperty("MessageId");
  });

  test("writes and reads objects under any key, as bytes and as a stream", async () => {
    const { s3 } = clients(key);
    const Bucket = `b-${key.accessKeyId.toLowerCase()}`;
    await s3.createBucket({ Bucket });
    for (const Key of ["plain", "a b+c/d@e(1)!'*~.txt", "ünï/日本", "%41"]) {
      await s3.putObject({ Bucket, Key, Body: "bytes", Metadata: { color: "blue" } });
      const { Body } = await s3.getObject({ Bucket, Key });
      expect(await Body!.transformToString()).toBe("bytes");
    }
    const Body = Readable.from([Buffer.alloc(70_000, 1)]);
    await s3.putObject({ Bucket, Key: "stream", Body, ContentLength: 70_000 });
    const { Contents } = await s3.listObjectsV2({ Bucket, Prefix: "a b+" });
    expect(Contents).toHaveLength(1);
  });

  test("presigns reads and writes", async () => {
    const { s3 } = clients(key);
    const Bucket = `p-${key.accessKeyId.toLowerCase()}`;
    await s3.createBucket({ Bucket });
    const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: "a b" }));
    expect(await fetch(url, { method: "PUT", body: "bytes" })).toMatchObject({ status: 200 });
    const other = await fetch(url.replace("a%20b", "a%20c"), { method: "PUT", body: "bytes" });
    expect(other.status).toBe(403);
    expect(await other.text()).toContain("<Code>SignatureDoesNotMatch</Code>");
  });
});

test.each([
  [
    "an unknown key",
    { ...KEY, accessKeyId: "AKIDOTHER" },
    ["InvalidClientTokenId", "InvalidAccessKeyId"],
  ],
  ["another secret", { ...KEY, secretAccessKey: "other" }, ["SignatureDoesNotMatch"]],
])("the AWS SDK reports %s under the name that AWS gives it", async (_, key, names) => {
  const { sqs, sns, s3 } = clients(key);
  for (const call of [
    () => sqs.listQueues({}),
    () => sns.listTopics({}),
    () => s3.listBuckets({}),
  ]) {
    const error = (await call().then(
      () => null,
      (reason: unknown) => reason,
    )) as { readonly Code?: string; readonly name: string } | null;
    expect([...names, "UnrecognizedClientException", "InvalidSignatureException"]).toContain(
      error?.name,
    );
  }
});

test("no answer has a secret or a token, and unsigned requests are refused", async () => {
  const wrong = { ...TEMPORARY, secretAccessKey: "another secret" };
  const answers: string[] = [];
  for (const send of [
    () => fetch(`${cloud.endpoint}/b-x`),
    () => fetch(`${cloud.endpoint}/?Action=ListQueues&Version=2012-11-05`),
    () => fetch(`${cloud.endpoint}/?Action=ListTopics&Version=2010-03-31`),
  ]) {
    const reply = await send();
    expect(reply.status).toBe(403);
    answers.push(await reply.text());
  }
  const error = (await clients(wrong)
    .s3.listBuckets({})
    .catch((reason: unknown) => reason)) as Error;
  answers.push(JSON.stringify(error), error.message);
  for (const secret of [TEMPORARY.secretAccessKey, TEMPORARY.sessionToken, KEY.secretAccessKey]) {
    expect(answers.join("\n")).not.toContain(secret);
  }
});

const { boto3 } = requirePart("boto3");

test("botocore signs every way it knows, and each changed signature is refused", async () => {
  const script = new URL("../python/signature-checks.py", import.meta.url).pathname;
  const { exitCode, stdout, stderr } = await runChild(boto3, [
    script,
    cloud.endpoint,
    JSON.stringify([KEY, TEMPORARY]),
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout.trim().split("\n")).toEqual(
    expect.arrayContaining(["presigned v2", "all checked"]),
  );
});
