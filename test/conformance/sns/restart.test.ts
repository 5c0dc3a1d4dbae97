import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GetTopicAttributesCommand, PublishCommand, SubscribeCommand } from "@aws-sdk/client-sns";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openEndpoint, openSnsServer, TOPIC_PREFIX } from "../../support/sns-server.ts";

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "tidegate-sns-"));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

const fifo = (TopicArn: string, Message: string) =>
  new PublishCommand({ TopicArn, Message, MessageGroupId: "g" });

test("topics, messages, deduplication ids, archives and the signing key survive a restart", async () => {
  let certificate = "";
  {
    await using server = await openSnsServer({ data });
    const topic = await server.topic("t.fifo", {
      ContentBasedDeduplication: "true",
      ArchivePolicy: '{"MessageRetentionPeriod":"7"}',
    });
    const queue = await server.queue("q.fifo");
    await server.subscribe(topic, queue, { RawMessageDelivery: "true" });
    await server.sns.send(fifo(topic, "one"));
    await server.sns.send(fifo(topic, "two"));
    const standard = await server.topic("standard");
    const inbox = await server.queue("inbox");
    await server.subscribe(standard, inbox);
    await server.publish(standard, { Message: "signed by the next process" });
    certificate = `${server.cloud.endpoint}`;
  }
  await using server = await openSnsServer({ data });
  const topic = `${TOPIC_PREFIX}t.fifo`;
  expect(await server.sns.send(new GetTopicAttributesCommand({ TopicArn: topic }))).toMatchObject({
    Attributes: { SubscriptionsConfirmed: "1", FifoTopic: "true" },
  });
  await server.sns.send(fifo(topic, "two")); // Still a duplicate.
  await server.sns.send(fifo(topic, "three"));
  const queue = await server.queue("q.fifo");
  const bodies = (await server.drain(queue)).map(({ Body }) => Body);
  expect(bodies).toEqual(["one", "two", "three"]);
  const late = await server.queue("late.fifo");
  const StartingPoint = new Date(0).toISOString();
  await server.subscribe(topic, late, {
    RawMessageDelivery: "true",
    ReplayPolicy: JSON.stringify({ PointType: "Timestamp", StartingPoint }),
  });
  await server.cloud.clock.advance(0);
  const replayed = await server.drain(late);
  expect(replayed.map(({ Body }) => Body)).toEqual(["one", "two", "three"]);
  expect(replayed[0]?.MessageAttributes?.Replayed?.StringValue).toBe("true");
  const [signed] = await server.drain(await server.queue("inbox"));
  const { Signature, SigningCertURL } = JSON.parse(signed?.Body as string);
  expect(Signature).toHaveLength(344);
  // The link has the address of the publishing process; the next process has the same key.
  const moved = SigningCertURL.replace(certificate, server.cloud.endpoint);
  expect((await fetch(moved)).status).toBe(200);
});

test("pending requests to http endpoints are sent by the next process", async () => {
  await using endpoint = await openEndpoint();
  endpoint.status = 503;
  {
    await using server = await openSnsServer({ data });
    const TopicArn = await server.topic("t");
    const http = { Protocol: "http", Endpoint: endpoint.url };
    await server.sns.send(new SubscribeCommand({ TopicArn, ...http }));
    await server.cloud.clock.advance(0);
    const { SubscribeURL } = JSON.parse(endpoint.requests[0]?.body as string);
    await fetch(SubscribeURL);
    await server.publish(TopicArn, { Message: "keep trying" });
    await server.cloud.clock.advance(0);
  }
  endpoint.status = 200;
  endpoint.requests.length = 0;
  await using server = await openSnsServer({ data });
  await server.cloud.clock.advance(60_000);
  const messages = endpoint.requests.map(({ body }) => JSON.parse(body).Message as string);
  expect(messages.filter((message) => message === "keep trying")).toHaveLength(1);
});
