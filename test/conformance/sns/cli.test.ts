import { expect, test } from "vitest";
import { type Options, useAwsCli } from "../../support/aws-cli.ts";
import { ACCOUNT, arnOf, REGION, useEndpoint } from "../../support/endpoint.ts";
import { requireFullSize } from "../../support/full-size.ts";

const endpoint = useEndpoint();
const { call, refusal } = useAwsCli(endpoint);
requireFullSize();
const aws = (action: string, options: Options) => call("sns", action, options);

test("[91][98] a topic is created, subscribed to and published to, and returns its attributes", async () => {
  const attributes = { DisplayName: "all that comes in" };
  const { TopicArn } = await aws("create-topic", { name: "cli", attributes });
  expect(TopicArn).toBe(`arn:aws:sns:${REGION}:${ACCOUNT}:cli`);
  const topic = { "topic-arn": TopicArn };
  const url = await endpoint.queue();
  const subscribed = await aws("subscribe", {
    ...topic,
    protocol: "sqs",
    "notification-endpoint": arnOf(url),
    attributes: { FilterPolicy: JSON.stringify({ kind: ["wanted"] }) },
  });
  expect(subscribed.SubscriptionArn).toMatch(new RegExp(`^${TopicArn}:[0-9a-f-]{36}$`));
  const kind = { DataType: "String", StringValue: "wanted" };
  const published = await aws("publish", {
    ...topic,
    message: "hej på dig",
    "message-attributes": { kind },
  });
  const { Messages = [] } = await endpoint.sqs.receiveMessage({ QueueUrl: url });
  expect(JSON.parse(Messages[0]?.Body ?? "null")).toMatchObject({
    MessageId: published.MessageId,
    Message: "hej på dig",
    MessageAttributes: { kind: { Type: "String", Value: "wanted" } },
  });
  const shown = await aws("get-topic-attributes", topic);
  expect(shown.Attributes).toMatchObject({ ...attributes, SubscriptionsConfirmed: "1" });
  const listed = await aws("list-subscriptions-by-topic", topic);
  expect(listed.Subscriptions).toMatchObject([{ Endpoint: arnOf(url), Protocol: "sqs" }]);
  await aws("delete-topic", topic);
  expect(await refusal("sns", "publish", { ...topic, message: "x" })).toBe(
    "An error occurred (NotFound) when calling the Publish operation: Topic does not exist",
  );
});
