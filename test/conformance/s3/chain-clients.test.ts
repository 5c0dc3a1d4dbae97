// The whole chain with each client: a bucket notifies a topic, which delivers to a raw and a
// filtered queue, and every field is compared with AWS. One run per client, because each is slow.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SNS } from "@aws-sdk/client-sns";
import { describe, expect, test } from "vitest";
import { useAwsCli } from "../../support/aws-cli.ts";
import {
  CHAIN_BODY,
  CHAIN_FILTER,
  CHAIN_KEY,
  CHAIN_RULE,
  checkChain,
  HOST_ID,
  REQUEST_ID,
} from "../../support/chain-events.ts";
import { runChild } from "../../support/child-process.ts";
import { requireFullSize } from "../../support/full-size.ts";
import { requirePart } from "../../support/requires.ts";
import { ACCOUNT, REGION, useBuckets } from "../../support/s3-buckets.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const buckets = useBuckets();
const NOTIFICATION = (TopicArn: string) => ({
  TopicConfigurations: [{ Id: CHAIN_RULE, TopicArn, Events: ["s3:ObjectCreated:*" as const] }],
});
const RAW = { RawMessageDelivery: "true" };
const FILTERED = { FilterPolicy: CHAIN_FILTER, FilterPolicyScope: "MessageBody" };

describe("AWS SDK", () => {
  test("[109][113][116] the SDK runs the chain and gets every event as AWS sends it", async () => {
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    const sns = new SNS({ endpoint: buckets.url, region: REGION, credentials });
    const { TopicArn = "" } = await sns.createTopic({ Name: "chain-sdk" });
    const subscribed = async (Attributes: Record<string, string>) => {
      const queue = await buckets.queue();
      await sns.subscribe({ TopicArn, Protocol: "sqs", Endpoint: queue.arn, Attributes });
      return queue.url;
    };
    const raw = await subscribed(RAW);
    const filtered = await subscribed(FILTERED);
    const Bucket = await buckets.bucket();
    await buckets.s3.putBucketNotificationConfiguration({
      Bucket,
      NotificationConfiguration: NOTIFICATION(TopicArn),
    });
    const put = await buckets.s3.putObject({ Bucket, Key: CHAIN_KEY, Body: CHAIN_BODY });
    await buckets.s3.putObject({ Bucket, Key: "elsewhere", Body: "" });
    const bodies = async (QueueUrl: string) => {
      const { Messages = [] } = await buckets.sqs.receiveMessage({
        QueueUrl,
        MaxNumberOfMessages: 10,
      });
      return Messages.map(({ Body = "" }) => Body);
    };
    checkChain({
      bucket: Bucket,
      topicArn: TopicArn,
      requestId: put.$metadata.requestId ?? "",
      hostId: put.$metadata.extendedRequestId ?? "",
      raw: await bodies(raw),
      filtered: await bodies(filtered),
    });
    sns.destroy();
  });
});

describe("boto3", () => {
  const { boto3 } = requirePart("boto3");

  test("[109][113][116] boto3 runs the chain and gets every event as AWS sends it", async () => {
    const script = join(import.meta.dirname, "../python/chain.py");
    const args = [script, buckets.url, "chain-boto3", CHAIN_KEY, CHAIN_BODY, CHAIN_FILTER];
    const { exitCode, stdout, stderr } = await runChild(boto3, args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    checkChain({ bucket: "chain-boto3", ...JSON.parse(stdout) });
  });
});

describe("aws-cli", () => {
  requireFullSize();
  const { call: aws } = useAwsCli(buckets);
  const folder = useTemporaryFolder("chain");
  const file = join(folder, "body");
  writeFileSync(file, CHAIN_BODY);

  test("[109][113][116] aws-cli runs the chain and gets every event as AWS sends it", async () => {
    const bucket = "chain-aws-cli";
    const { TopicArn } = await aws("sns", "create-topic", { name: bucket });
    const subscribed = async (name: string, attributes: object) => {
      const { QueueUrl } = await aws("sqs", "create-queue", { "queue-name": name });
      await aws("sns", "subscribe", {
        "topic-arn": TopicArn,
        protocol: "sqs",
        "notification-endpoint": `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`,
        attributes,
      });
      return QueueUrl as string;
    };
    const [raw, filtered] = await Promise.all([
      subscribed(`${bucket}-raw`, RAW),
      subscribed(`${bucket}-filtered`, FILTERED),
      aws("s3api", "create-bucket", { bucket }),
    ]);
    await aws("s3api", "put-bucket-notification-configuration", {
      bucket,
      "notification-configuration": NOTIFICATION(TopicArn),
    });
    const put = (key: string, body: string) =>
      aws("s3api", "put-object", { bucket, key, ...(body !== "" && { body }) });
    await put(CHAIN_KEY, file);
    await put("elsewhere", "");
    const bodies = async (url: string): Promise<string[]> => {
      const asked = { "queue-url": url, "max-number-of-messages": "10" };
      const { Messages } = await aws("sqs", "receive-message", asked);
      return Messages.map(({ Body }: { Body: string }) => Body);
    };
    checkChain({
      bucket,
      topicArn: TopicArn,
      requestId: REQUEST_ID, // The client does not expose it.
      hostId: HOST_ID,
      raw: await bodies(raw),
      filtered: await bodies(filtered),
    });
  });
});
