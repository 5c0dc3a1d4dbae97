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

test("topics, copies, ids, archives and the signing key outlive the process", async () => {
  let certificate = "";
  {
    await using site = await openSnsServer({ data });
    const topic = await site.topic("t.fifo", {
      ContentBasedDeduplication: "true",
      ArchivePolicy: '{"MessageRetentionPeriod":"7"}',
    });
    const queue = await site.queue("q.fifo");
    await site.subscribe(topic, queue, { RawMessageDelivery: "true" });
    await site.sns.send(fifo(topic, "one"));
    await site.sns.send(fifo(topic, "two"));
    const plain = await site.topic("plain");
    const inbox = await site.queue("inbox");
    await site.subscribe(plain, inbox);
    await site.publish(plain, { Message: "signed by the next process" });
    certificate = `${site.cloud.endpoint}`;
  }
  await using site = await openSnsServer({ data });
  const topic = `${TOPIC_PREFIX}t.fifo`;
  expect(await site.sns.send(new GetTopicAttributesCommand({ TopicArn: topic }))).toMatchObject({
    Attributes: { SubscriptionsConfirmed: "1", FifoTopic: "true" },
  });
  await site.sns.send(fifo(topic, "two")); // A duplicate still.
  await site.sns.send(fifo(topic, "three"));
  const queue = await site.queue("q.fifo");
  const bodies = (await site.drain(queue)).map(({ Body }) => Body);
  expect(bodies).toEqual(["one", "two", "three"]);
  const late = await site.queue("late.fifo");
  const StartingPoint = new Date(0).toISOString();
  await site.subscribe(topic, late, {
    RawMessageDelivery: "true",
    ReplayPolicy: JSON.stringify({ PointType: "Timestamp", StartingPoint }),
  });
  await site.cloud.clock.advance(0);
  const replayed = await site.drain(late);
  expect(replayed.map(({ Body }) => Body)).toEqual(["one", "two", "three"]);
  expect(replayed[0]?.MessageAttributes?.Replayed?.StringValue).toBe("true");
  const [signed] = await site.drain(await site.queue("inbox"));
  const { Signature, SigningCertURL } = JSON.parse(signed?.Body as string);
  expect(Signature).toHaveLength(344);
  // The link names the process that was asked to publish; the key is the same in the next.
  const moved = SigningCertURL.replace(certificate, site.cloud.endpoint);
  expect((await fetch(moved)).status).toBe(200);
});

test("requests to http endpoints that were under way are made by the next process", async () => {
  await using endpoint = await openEndpoint();
  endpoint.status = 503;
  {
    await using site = await openSnsServer({ data });
    const TopicArn = await site.topic("t");
    const http = { Protocol: "http", Endpoint: endpoint.url };
    await site.sns.send(new SubscribeCommand({ TopicArn, ...http }));
    await site.cloud.clock.advance(0);
    const { SubscribeURL } = JSON.parse(endpoint.requests[0]?.body as string);
    await fetch(SubscribeURL);
    await site.publish(TopicArn, { Message: "keep trying" });
    await site.cloud.clock.advance(0);
  }
  endpoint.status = 200;
  endpoint.requests.length = 0;
  await using site = await openSnsServer({ data });
  await site.cloud.clock.advance(60_000);
  const messages = endpoint.requests.map(({ body }) => JSON.parse(body).Message as string);
  expect(messages.filter((message) => message === "keep trying")).toHaveLength(1);
});
