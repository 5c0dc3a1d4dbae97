import { expect, test } from "vitest";
import { startCloud } from "../../../src/cloud/start-cloud.ts";

test("the embedded cloud reports requests, depths and ages, and forgets deleted queues", async () => {
  await using cloud = await startCloud({
    memory: true,
    clock: "virtual",
    setup: {
      queues: [{ name: "work" }, { name: "idle" }],
      topics: [{ name: "news" }],
      subscriptions: [{ topic: "news", queue: "work" }],
    },
  });
  const call = (action: string, body: object) =>
    fetch(cloud.endpoint, {
      method: "POST",
      headers: {
        "x-amz-target": `AmazonSQS.${action}`,
        "content-type": "application/x-amz-json-1.0",
      },
      body: JSON.stringify(body),
    });
  const url = (name: string) => `${cloud.endpoint}/000000000000/${name}`;
  const page = async (accept = "*/*") =>
    await (await fetch(`${cloud.endpoint}/_tidegate/metrics`, { headers: { accept } })).text();
  await call("SendMessage", { QueueUrl: url("work"), MessageBody: "a" });
  await call("No such\u00e9", {});
  await fetch(`${cloud.endpoint}/_tidegate/clock`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"advanceMs": 30000}',
  });
  const text = await page();
  expect(text).toContain(
    'tidegate_cloud_requests_total{service="sqs",action="SendMessage",status="200"} 1\n',
  );
  expect(text).toContain('tidegate_cloud_queue_messages{queue="work",state="visible"} 1\n');
  expect(text).toContain('tidegate_cloud_queue_oldest_message_seconds{queue="work"} 30\n');
  expect(text).toContain('tidegate_cloud_topic_subscriptions{topic="news"} 1\n');
  expect(text).toMatch(
    /tidegate_cloud_requests_total\{service="sqs",action="other",status="4\d\d"\} 1\n/,
  );
  await call("DeleteQueue", { QueueUrl: url("idle") });
  expect(await page()).not.toContain('queue="idle"');
  expect(await page("application/openmetrics-text")).toMatch(/# EOF\n$/);
});
