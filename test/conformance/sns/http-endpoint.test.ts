import {
  ConfirmSubscriptionCommand,
  GetSubscriptionAttributesCommand,
  ListSubscriptionsByTopicCommand,
  SubscribeCommand,
} from "@aws-sdk/client-sns";
import { expect, test } from "vitest";
import {
  type Endpoint,
  openEndpoint,
  openSnsServer,
  type SnsServer,
  TOPIC_PREFIX,
} from "../../support/sns-server.ts";

type Body = Record<string, string>;

const bodyAt = (endpoint: Endpoint, index: number) =>
  JSON.parse(endpoint.requests.at(index)?.body ?? "{}") as Body;

async function subscribe(site: SnsServer, url: string, input: object = {}) {
  const TopicArn = await site.topic("t");
  const protocol = { Protocol: "http", Endpoint: url };
  const sent = await site.sns.send(new SubscribeCommand({ TopicArn, ...protocol, ...input }));
  await site.cloud.clock.advance(0);
  return sent.SubscriptionArn as string;
}

/** Subscribes and visits the link that the endpoint was sent. */
async function confirmed(site: SnsServer, endpoint: Endpoint, input: object = {}): Promise<string> {
  const arn = await subscribe(site, endpoint.url, { ReturnSubscriptionArn: true, ...input });
  const visited = await fetch(bodyAt(endpoint, -1).SubscribeURL as string);
  expect(await visited.text()).toContain(`<SubscriptionArn>${arn}</SubscriptionArn>`);
  endpoint.requests.length = 0;
  return arn;
}

test("[105] the first request asks for confirmation, until then the subscription is pending", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  expect(await subscribe(site, endpoint.url)).toBe("pending confirmation");
  const TopicArn = `${TOPIC_PREFIX}t`;
  const [request] = endpoint.requests;
  const body = bodyAt(endpoint, 0);
  expect(request?.headers).toMatchObject({
    "content-type": "text/plain; charset=UTF-8",
    "user-agent": "Amazon Simple Notification Service Agent",
    "x-amz-sns-message-type": "SubscriptionConfirmation",
    "x-amz-sns-message-id": body.MessageId,
    "x-amz-sns-topic-arn": TopicArn,
  });
  expect(request?.headers).not.toHaveProperty("x-amz-sns-subscription-arn");
  expect(Object.keys(body)).toEqual([
    "Type",
    "MessageId",
    "Token",
    "TopicArn",
    "Message",
    "SubscribeURL",
    "Timestamp",
    "SignatureVersion",
    "Signature",
    "SigningCertURL",
  ]);
  const list = () => site.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn }));
  expect((await list()).Subscriptions?.[0]?.SubscriptionArn).toBe("PendingConfirmation");
  const { Token } = body;
  const { SubscriptionArn } = await site.sns.send(
    new ConfirmSubscriptionCommand({ TopicArn, Token }),
  );
  expect((await list()).Subscriptions?.[0]?.SubscriptionArn).toBe(SubscriptionArn);
  const read = await site.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
  expect(read.Attributes).toMatchObject({ PendingConfirmation: "false", Protocol: "http" });
  expect(JSON.parse(read.Attributes?.EffectiveDeliveryPolicy as string)).toMatchObject({
    healthyRetryPolicy: { numRetries: 3, minDelayTarget: 20, maxDelayTarget: 20 },
  });
});

test("[105] notifications name topic, subscription and message in their headers", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  const arn = await confirmed(site, endpoint);
  const id = await site.publish(`${TOPIC_PREFIX}t`, { Message: "häy", Subject: "s" });
  await site.cloud.clock.advance(0);
  expect(endpoint.requests).toHaveLength(1);
  expect(endpoint.requests[0]?.headers).toMatchObject({
    "x-amz-sns-message-type": "Notification",
    "x-amz-sns-message-id": id,
    "x-amz-sns-topic-arn": `${TOPIC_PREFIX}t`,
    "x-amz-sns-subscription-arn": arn,
  });
  expect(bodyAt(endpoint, 0)).toMatchObject({ Type: "Notification", Message: "häy", Subject: "s" });
});

test("[93] a raw request is the message alone, and says that it is", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  await confirmed(site, endpoint, { Attributes: { RawMessageDelivery: "true" } });
  const MessageAttributes = { secret: { DataType: "String", StringValue: "x" } };
  await site.publish(`${TOPIC_PREFIX}t`, { Message: "bare", MessageAttributes });
  await site.cloud.clock.advance(0);
  const [request] = endpoint.requests;
  expect(request?.body).toBe("bare");
  expect(request?.headers["x-amz-sns-rawdelivery"]).toBe("true");
  expect(JSON.stringify(request?.headers)).not.toContain("secret");
});

test("[104] failures are tried three times more, twenty seconds apart; then comes the dead-letter queue", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  const dead = await site.queue("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
  await confirmed(site, endpoint, { Attributes: { RedrivePolicy } });
  endpoint.status = 503;
  await site.publish(`${TOPIC_PREFIX}t`, { Message: "x" });
  const seen: number[] = [];
  for (const ms of [0, 19_999, 1, 20_000, 20_000, 600_000]) {
    await site.cloud.clock.advance(ms);
    seen.push(endpoint.requests.length);
  }
  expect(seen).toEqual([1, 1, 2, 3, 4, 4]);
  expect(new Set(endpoint.requests.map(({ body }) => body)).size).toBe(1);
  expect(await site.drain(dead)).toHaveLength(1);
});

test("[104] what the endpoint refuses is not tried again", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  const dead = await site.queue("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
  await confirmed(site, endpoint, { Attributes: { RedrivePolicy } });
  endpoint.status = 403;
  await site.publish(`${TOPIC_PREFIX}t`, { Message: "x" });
  await site.cloud.clock.advance(600_000);
  expect(endpoint.requests).toHaveLength(1);
  expect(await site.drain(dead)).toHaveLength(1);
});

test("the link in a notification unsubscribes", async () => {
  await using site = await openSnsServer();
  await using endpoint = await openEndpoint();
  await confirmed(site, endpoint);
  await site.publish(`${TOPIC_PREFIX}t`);
  await site.cloud.clock.advance(0);
  const visited = await fetch(bodyAt(endpoint, 0).UnsubscribeURL as string);
  expect(visited.status).toBe(200);
  await site.publish(`${TOPIC_PREFIX}t`);
  await site.cloud.clock.advance(0);
  expect(endpoint.requests).toHaveLength(1);
});
