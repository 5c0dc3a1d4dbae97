import { expect, test } from "vitest";
import { requirePart } from "../../requires.ts";
import { runChild } from "../child.ts";
import { ACCOUNT, arnOf, REGION, useEndpoint } from "../endpoint.ts";

const commands = requirePart("aws-cli");
const endpoint = useEndpoint();

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_DEFAULT_REGION: REGION,
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_PAGER: "",
};

function run(action: string, options: Readonly<Record<string, string | object>>) {
  const args = Object.entries(options).flatMap(([name, value]) => [
    `--${name}`,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const service = ["--endpoint-url", endpoint.url, "--output", "json", "sns", action];
  return runChild(commands["aws-cli"], [...service, ...args], ENVIRONMENT);
}

/** What an action printed, null if nothing; fails if it failed. */
async function aws(action: string, options: Readonly<Record<string, string | object>>) {
  const { exitCode, stdout, stderr } = await run(action, options);
  if (exitCode !== 0) throw new Error(`aws sns ${action} ended with ${exitCode}: ${stderr}`);
  return stdout === "" ? null : JSON.parse(stdout);
}

test("[91][98] a topic is made, subscribed to and published to, and tells what it has", async () => {
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
  const told = await aws("get-topic-attributes", topic);
  expect(told.Attributes).toMatchObject({ ...attributes, SubscriptionsConfirmed: "1" });
  const listed = await aws("list-subscriptions-by-topic", topic);
  expect(listed.Subscriptions).toMatchObject([{ Endpoint: arnOf(url), Protocol: "sqs" }]);
  await aws("delete-topic", topic);
  const { exitCode, stderr } = await run("publish", { ...topic, message: "x" });
  expect([exitCode, stderr.trim()]).toEqual([
    254,
    "An error occurred (NotFound) when calling the Publish operation: Topic does not exist",
  ]);
});
