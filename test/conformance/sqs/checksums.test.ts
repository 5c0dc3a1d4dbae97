import type { MessageAttributeValue } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import { useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const text = (StringValue: string, DataType = "String") => ({ StringValue, DataType });
const TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";

test.each<[string, Record<string, MessageAttributeValue>]>([
  ["da1b33cc3cbfe8b1630921e78e6b9880", { color: text("blue") }],
  [
    "d838729972a4b70e2d2acd9d59ac847c",
    {
      count: text("3", "Number"),
      color: text("blue"),
      blob: { BinaryValue: Uint8Array.of(1, 2, 3), DataType: "Binary" },
    },
  ],
  [
    "56a5bee3ed610a27fd04b2b195aee70b",
    { tags: text('["a","b"]', "String.Array"), color: text("blue") },
  ],
  ["235c5c510d26fb653d073faed50ae77c", { timestamp: text("1493147359900", "Number") }],
])("[19] the checksum of attributes is %s, on send and on receive", async (sum, attributes) => {
  const QueueUrl = await endpoint.queue();
  const message = { MessageBody: "x", MessageAttributes: attributes };
  const sent = await endpoint.sqs.sendMessage({ QueueUrl, ...message });
  expect(sent.MD5OfMessageAttributes).toBe(sum);
  const request = { QueueUrl, MessageAttributeNames: ["All"] };
  const { Messages } = await endpoint.sqs.receiveMessage(request);
  expect(Messages![0]!.MD5OfMessageAttributes).toBe(sum);
  expect(Messages![0]!.MessageAttributes).toEqual(attributes);
  const Entries = [{ Id: "a", ...message }];
  const { Successful } = await endpoint.sqs.sendMessageBatch({ QueueUrl, Entries });
  expect(Successful![0]!.MD5OfMessageAttributes).toBe(sum);
});

test("[20] system attributes have their own checksum and are not part of the other", async () => {
  const QueueUrl = await endpoint.queue();
  const untraced = { QueueUrl, MessageBody: "x", MessageAttributes: { color: text("blue") } };
  const traced = { ...untraced, MessageSystemAttributes: { AWSTraceHeader: text(TRACE) } };
  const first = await endpoint.sqs.sendMessage(untraced);
  const second = await endpoint.sqs.sendMessage(traced);
  expect(first.MD5OfMessageSystemAttributes).toBeUndefined();
  expect(second.MD5OfMessageSystemAttributes).toBe("5ae4d5d7636402d80f4eb6d213245a88");
  expect(second.MD5OfMessageAttributes).toBe(first.MD5OfMessageAttributes);
});

/** A queue with one message, always visible, with three attributes. */
async function queueWithAttributes(): Promise<string> {
  const QueueUrl = await endpoint.queue({ VisibilityTimeout: "0" });
  const MessageAttributes = {
    Hello: text("there"),
    "Help.Me": text("Me"),
    World: text("wide"),
  };
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x", MessageAttributes });
  return QueueUrl;
}

test("[21] without names neither attributes nor their checksum are returned", async () => {
  const QueueUrl = await queueWithAttributes();
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  expect(Object.keys(Messages![0]!).sort()).toEqual([
    "Body",
    "MD5OfBody",
    "MessageId",
    "ReceiptHandle",
  ]);
});

test("[21] the checksum covers exactly the returned attributes", async () => {
  const QueueUrl = await queueWithAttributes();
  const alone = await endpoint.queue();
  const MessageAttributes = { World: text("wide") };
  const sent = await endpoint.sqs.sendMessage({
    QueueUrl: alone,
    MessageBody: "x",
    MessageAttributes,
  });
  const request = { QueueUrl, MessageAttributeNames: ["World"] };
  const { Messages } = await endpoint.sqs.receiveMessage(request);
  expect(Messages![0]!.MD5OfMessageAttributes).toBe(sent.MD5OfMessageAttributes);
});

test.each<[string[], string[]]>([
  [["All"], ["Hello", "Help.Me", "World"]],
  [[".*"], ["Hello", "Help.Me", "World"]],
  [["*"], ["Hello", "Help.Me", "World"]],
  [["Hel.*"], ["Hello", "Help.Me"]],
  [["Help.*"], ["Help.Me"]],
  [
    ["Hello", "World"],
    ["Hello", "World"],
  ],
  [["Hello", "Unknown"], ["Hello"]],
  [["Foo"], []],
  [["(illegal)", "$&%", "hello"], []],
])("[22] the names %j request the attributes %j", async (MessageAttributeNames, returned) => {
  const QueueUrl = await queueWithAttributes();
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MessageAttributeNames });
  expect(Object.keys(Messages![0]!.MessageAttributes ?? {}).sort()).toEqual(returned);
  expect(Messages![0]!.MD5OfMessageAttributes === undefined).toBe(returned.length === 0);
});

test("[23] JSON merges the two lists of system attributes", async () => {
  const QueueUrl = await queueWithAttributes();
  const { Messages } = await endpoint.sqs.receiveMessage({
    QueueUrl,
    AttributeNames: ["SentTimestamp"] as never,
    MessageSystemAttributeNames: ["ApproximateReceiveCount", "SenderId"],
  });
  expect(Object.keys(Messages![0]!.Attributes!).sort()).toEqual([
    "ApproximateReceiveCount",
    "SenderId",
    "SentTimestamp",
  ]);
});

test("[23] in the query protocol the older list of system attributes wins", async () => {
  const QueueUrl = await queueWithAttributes();
  const receive = { Action: "ReceiveMessage", QueueUrl };
  const newer = { "MessageSystemAttributeName.1": "SenderId" };
  const both = await endpoint.query({ ...receive, ...newer, "AttributeName.1": "SentTimestamp" });
  expect(both.body).toContain("<Name>SentTimestamp</Name>");
  expect(both.body).not.toContain("<Name>SenderId</Name>");
  const alone = await endpoint.query({ ...receive, ...newer });
  expect(alone.body).toContain("<Name>SenderId</Name>");
});
