import {
  ConfirmSubscriptionCommand,
  GetSubscriptionAttributesCommand,
  ListSubscriptionsByTopicCommand,
  SubscribeCommand,
} from "@aws-sdk/client-sns";
import { expect, test } from "vitest";
import {
  type HttpEndpoint,
  openEndpoint,
  openSnsServer,
  type SnsServer,
  TOPIC_PREFIX,
} from "../../support/sns-server.ts";

type Body = Record<string, string>;

const bodyAt = (endpoint: HttpEndpoint, index: number) =>
  JSON.parse(endpoint.requests.at(index)?.body ?? "{}") as Body;

async function subscribe(server: SnsServer, url: string, input: object = {}) {
  const TopicArn = await server.topic("t");
  const protocol = { Protocol: "http", Endpoint: url };
  const sent = await server.sns.send(new SubscribeCommand({ TopicArn, ...protocol, ...input }));
  await server.cloud.clock.advance(0);
  return sent.SubscriptionArn as string;
}

/** Subscribes and calls the confirmation link that the endpoint received. */
async function confirmed(
  server: SnsServer,
  endpoint: HttpEndpoint,
  input: object = {},
): Promise<string> {
  const arn = await subscribe(server, endpoint.url, { ReturnSubscriptionArn: true, ...input });
  const visited = await fetch(bodyAt(endpoint, -1).SubscribeURL as string);
  expect(await visited.text()).toContain(`<SubscriptionArn>${arn}</SubscriptionArn>`);
  endpoint.requests.length = 0;
  return arn;
}

test("[105] the first request asks for confirmation, and the subscription is pending until then", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  expect(await subscribe(server, endpoint.url)).toBe("pending confirmation");
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
  const list = () => server.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn }));
  expect((await list()).Subscriptions?.[0]?.SubscriptionArn).toBe("PendingConfirmation");
  const { Token } = body;
  const { SubscriptionArn } = await server.sns.send(
    new ConfirmSubscriptionCommand({ TopicArn, Token }),
  );
  expect((await list()).Subscriptions?.[0]?.SubscriptionArn).toBe(SubscriptionArn);
  const read = await server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
  expect(read.Attributes).toMatchObject({ PendingConfirmation: "false", Protocol: "http" });
  expect(JSON.parse(read.Attributes?.EffectiveDeliveryPolicy as string)).toMatchObject({
    healthyRetryPolicy: { numRetries: 3, minDelayTarget: 20, maxDelayTarget: 20 },
  });
});

test("[105] notifications name topic, subscription and message in their headers", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  const arn = await confirmed(server, endpoint);
  const id = await server.publish(`${TOPIC_PREFIX}t`, { Message: "häy", Subject: "s" });
  await server.cloud.clock.advance(0);
  expect(endpoint.requests).toHaveLength(1);
  expect(endpoint.requests[0]?.headers).toMatchObject({
    "x-amz-sns-message-type": "Notification",
    "x-amz-sns-message-id": id,
    "x-amz-sns-topic-arn": `${TOPIC_PREFIX}t`,
    "x-amz-sns-subscription-arn": arn,
  });
  expect(bodyAt(endpoint, 0)).toMatchObject({ Type: "Notification", Message: "häy", Subject: "s" });
});

test("[93] a raw request contains only the message and is marked as raw", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  await confirmed(server, endpoint, { Attributes: { RawMessageDelivery: "true" } });
  const MessageAttributes = { secret: { DataType: "String", StringValue: "x" } };
  await server.publish(`${TOPIC_PREFIX}t`, { Message: "bare", MessageAttributes });
  await server.cloud.clock.advance(0);
  const [request] = endpoint.requests;
  expect(request?.body).toBe("bare");
  expect(request?.headers["x-amz-sns-rawdelivery"]).toBe("true");
  expect(JSON.stringify(request?.headers)).not.toContain("secret");
});

test("[104] failures are retried three times, 20 seconds apart, then go to the dead-letter queue", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  const dead = await server.queue("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
  await confirmed(server, endpoint, { Attributes: { RedrivePolicy } });
  endpoint.status = 503;
  await server.publish(`${TOPIC_PREFIX}t`, { Message: "x" });
  const counts: number[] = [];
  for (const ms of [0, 19_999, 1, 20_000, 20_000, 600_000]) {
    await server.cloud.clock.advance(ms);
    counts.push(endpoint.requests.length);
  }
  expect(counts).toEqual([1, 1, 2, 3, 4, 4]);
  expect(new Set(endpoint.requests.map(({ body }) => body)).size).toBe(1);
  expect(await server.drain(dead)).toHaveLength(1);
});

test("[104] a notification that the endpoint refuses is not retried", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  const dead = await server.queue("dead");
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
  await confirmed(server, endpoint, { Attributes: { RedrivePolicy } });
  endpoint.status = 403;
  await server.publish(`${TOPIC_PREFIX}t`, { Message: "x" });
  await server.cloud.clock.advance(600_000);
  expect(endpoint.requests).toHaveLength(1);
  expect(await server.drain(dead)).toHaveLength(1);
});

test("the link in a notification unsubscribes", async () => {
  await using server = await openSnsServer();
  await using endpoint = await openEndpoint();
  await confirmed(server, endpoint);
  await server.publish(`${TOPIC_PREFIX}t`);
  await server.cloud.clock.advance(0);
  const visited = await fetch(bodyAt(endpoint, 0).UnsubscribeURL as string);
  expect(visited.status).toBe(200);
  await server.publish(`${TOPIC_PREFIX}t`);
  await server.cloud.clock.advance(0);
  expect(endpoint.requests).toHaveLength(1);
});
