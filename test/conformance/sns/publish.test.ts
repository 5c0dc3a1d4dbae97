import {
  PublishBatchCommand,
  type PublishBatchRequestEntry,
  PublishCommand,
  type PublishCommandInput,
  SetSubscriptionAttributesCommand,
} from "@aws-sdk/client-sns";
import { DeleteQueueCommand, PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openSnsServer,
  QUEUE_PREFIX,
  type SnsServer,
  TOPIC_PREFIX,
} from "../../support/sns-server.ts";

let site: SnsServer;
let count = 0;
beforeAll(async () => {
  site = await openSnsServer();
});
afterAll(() => site[Symbol.asyncDispose]());

interface Pair {
  readonly topic: string;
  readonly queue: string;
  readonly subscription: string;
}

/** A topic and a queue of its own for each test. */
async function pair(attributes: Record<string, string> = {}, suffix = ""): Promise<Pair> {
  count += 1;
  const topic = await site.topic(`t${count}${suffix}`);
  const queue = await site.queue(`q${count}${suffix}`);
  return { topic, queue, subscription: await site.subscribe(topic, queue, attributes) };
}

const RAW = { RawMessageDelivery: "true" };

describe("what a publish may be", () => {
  const refused = (input: Partial<PublishCommandInput>, topic?: string) =>
    site.refusal(
      site.sns.send(
        new PublishCommand({ TopicArn: topic ?? `${TOPIC_PREFIX}any`, Message: "x", ...input }),
      ),
    );

  test("[90] 262,144 bytes are the most, attributes counted", async () => {
    const { topic, queue } = await pair(RAW);
    await site.publish(topic, { Message: "x".repeat(262_144) });
    expect(await site.drain(queue)).toHaveLength(1);
    const tooLong = {
      code: "InvalidParameter",
      status: 400,
      message: "Invalid parameter: Message too long",
    };
    expect(await refused({ Message: "x".repeat(262_145) }, topic)).toEqual(tooLong);
    const MessageAttributes = { a: { DataType: "String", StringValue: "v" } };
    const Message = "x".repeat(262_144 - "aStringv".length);
    await site.publish(topic, { Message, MessageAttributes });
    expect(await refused({ Message: `${Message}x`, MessageAttributes }, topic)).toEqual(tooLong);
    expect(await refused({ Message: "ä".repeat(131_073) }, topic)).toEqual(tooLong);
  });

  test("[99] a message is not empty, and neither is a subject", async () => {
    expect((await refused({ Message: "" })).message).toBe("Invalid parameter: Empty message");
    for (const Subject of ["", "a\nb", "x".repeat(101)]) {
      expect((await refused({ Subject })).message).toBe("Invalid parameter: Subject");
    }
  });

  test("[99] a message for each protocol needs a default, and picks by protocol", async () => {
    const MessageStructure = "json";
    const said = async (Message: string) => (await refused({ Message, MessageStructure })).message;
    const none = "Invalid parameter: Message Structure - No default entry in JSON message body";
    expect(await said('{"sqs":"x"}')).toBe(none);
    expect(await said('{"default":5}')).toBe(none);
    expect(await said("no JSON")).toBe(
      "Invalid parameter: Message Structure - JSON message body failed to parse",
    );
    const { topic, queue } = await pair(RAW);
    for (const message of [
      { default: "d", sqs: "for queues", http: "h", ok: "x" },
      { default: "d", http: "h" },
      { default: "d", sqs: { not: "text" } },
    ]) {
      await site.publish(topic, { Message: JSON.stringify(message), MessageStructure });
    }
    const bodies = (await site.drain(queue)).map(({ Body }) => Body).sort();
    expect(bodies).toEqual(["d", "d", "for queues"]);
  });

  test.each<[Record<string, object>, string]>([
    [{ ".a": {} }, "Invalid message attribute name starting with character '.' was found."],
    [{ "a.": {} }, "Invalid message attribute name ending with character '.' was found."],
    [{ "a..b": {} }, "Message attribute name can not have successive '.' character."],
    [
      { "a:b": {} },
      "Invalid non-alphanumeric character '#x3A' was found in the message attribute name. Can " +
        "only include alphanumeric characters, hyphens, underscores, or dots.",
    ],
    [
      { a: { DataType: "Text" } },
      "The message attribute 'a' has an invalid message attribute type, the set of supported " +
        "type prefixes is Binary, Number, and String.",
    ],
    [
      { a: { StringValue: "" } },
      "The message attribute 'a' must contain non-empty message attribute value for message " +
        "attribute type 'String'.",
    ],
    [
      { a: { DataType: "Binary" } },
      "The message attribute 'a' with type 'Binary' must use field 'Binary'.",
    ],
  ])("[89] attributes are refused as ParameterValueInvalid: %j", async (attributes, message) => {
    const [name, given] = Object.entries(attributes)[0] as [string, object];
    const MessageAttributes = { [name]: { DataType: "String", StringValue: "v", ...given } };
    expect(await refused({ MessageAttributes })).toEqual({
      code: "ParameterValueInvalid",
      status: 400,
      message,
    });
  });

  test("[95] FIFO topics need a group and an id, standard ones take no id", async () => {
    const fifo = await site.topic("needs.fifo");
    const standard = await site.topic("needs-none");
    expect((await refused({}, fifo)).message).toBe(
      "Invalid parameter: The MessageGroupId parameter is required for FIFO topics",
    );
    expect((await refused({ MessageGroupId: "g" }, fifo)).message).toBe(
      "Invalid parameter: The topic should either have ContentBasedDeduplication enabled or " +
        "MessageDeduplicationId provided explicitly",
    );
    expect(await refused({ MessageDeduplicationId: "d" }, standard)).toMatchObject({
      code: "InvalidParameter",
      message:
        "Invalid parameter: MessageDeduplicationId Reason: The request includes " +
        "MessageDeduplicationId parameter that is not valid for this topic type",
    });
  });

  test("a topic may be named as the target, phones and endpoints may not", async () => {
    const { topic, queue } = await pair();
    await site.sns.send(new PublishCommand({ TargetArn: topic, Message: "x" }));
    expect(await site.drain(queue)).toHaveLength(1);
    const TargetArn = "arn:aws:sns:us-east-1:000000000000:endpoint/APNS/app/id";
    const call = site.sns.send(new PublishCommand({ TargetArn, Message: "x" }));
    expect((await site.refusal(call)).message).toBe(
      "Invalid parameter: TargetArn Reason: No endpoint found for the target arn specified",
    );
  });
});

describe("batches", () => {
  const batch = (TopicArn: string, entries: PublishBatchRequestEntry[]) =>
    site.sns.send(new PublishBatchCommand({ TopicArn, PublishBatchRequestEntries: entries }));

  test("tell each entry's id, and a sequence number on FIFO topics", async () => {
    const { topic, queue } = await pair(RAW, ".fifo");
    const sent = await batch(
      topic,
      ["1", "2"].map((Id) => ({
        Id,
        Message: `m${Id}`,
        MessageGroupId: "g",
        MessageDeduplicationId: Id,
      })),
    );
    expect(sent.Failed).toEqual([]);
    expect(sent.Successful).toMatchObject([{ Id: "1" }, { Id: "2" }]);
    const numbers = sent.Successful?.map(({ SequenceNumber }) => SequenceNumber as string) ?? [];
    expect(numbers.every((number) => /^\d{20}$/.test(number))).toBe(true);
    expect(numbers[0]! < numbers[1]!).toBe(true);
    expect((await site.drain(queue)).map(({ Body }) => Body)).toEqual(["m1", "m2"]);
  });

  test("[90] are refused as a whole when they are too long together", async () => {
    const { topic, queue } = await pair(RAW);
    const entries = [1, 2].map((n) => ({ Id: `${n}`, Message: "x".repeat(131_073) }));
    expect(await site.refusal(batch(topic, entries))).toEqual({
      code: "BatchRequestTooLong",
      status: 400,
      message: "The length of all the messages put together is more than the limit.",
    });
    expect(await site.drain(queue)).toEqual([]);
  });

  test.each<[string, PublishBatchRequestEntry[]]>([
    ["TooManyEntriesInBatchRequest", Array.from({ length: 11 }, (_, n) => entry(`${n}`))],
    ["BatchEntryIdsNotDistinct", [entry("1"), entry("1")]],
    ["InvalidBatchEntryId", [entry("a b")]],
    ["InvalidBatchEntryId", [entry("x".repeat(81))]],
    ["EmptyBatchRequest", []],
    ["NotFound", [entry("1")]],
  ])("are refused with %s", async (code, entries) => {
    const topic = code === "NotFound" ? `${TOPIC_PREFIX}none` : await site.topic("batches");
    expect(await site.refusal(batch(topic, entries))).toMatchObject({ code });
  });
});

function entry(Id: string): PublishBatchRequestEntry {
  return { Id, Message: "x" };
}

describe("envelopes", () => {
  const keysOf = (body: string | undefined) => Object.keys(JSON.parse(body as string));

  test("[91] have AWS's keys in AWS's order, bytes in base64", async () => {
    const { topic, queue, subscription } = await pair();
    const id = await site.publish(topic, {
      Message: 'ö§a1"_!?,. £$-\r\n',
      Subject: "Sübject",
      MessageAttributes: {
        text: { DataType: "String", StringValue: "x" },
        bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(2, 3, 4) },
      },
    });
    const [message] = await site.drain(queue);
    expect(keysOf(message?.Body)).toEqual([
      "Type",
      "MessageId",
      "TopicArn",
      "Subject",
      "Message",
      "Timestamp",
      "SignatureVersion",
      "Signature",
      "SigningCertURL",
      "UnsubscribeURL",
      "MessageAttributes",
    ]);
    const body = JSON.parse(message?.Body as string);
    expect(body).toMatchObject({
      Type: "Notification",
      MessageId: id,
      TopicArn: topic,
      Subject: "Sübject",
      Message: 'ö§a1"_!?,. £$-\r\n',
      Timestamp: new Date(site.cloud.clock.now()).toISOString(),
      SignatureVersion: "1",
      UnsubscribeURL: `${site.cloud.endpoint}/?Action=Unsubscribe&SubscriptionArn=${subscription}`,
      MessageAttributes: {
        text: { Type: "String", Value: "x" },
        bytes: { Type: "Binary", Value: "AgME" },
      },
    });
    expect(message?.MessageAttributes).toBeUndefined(); // [93]
    expect(message?.MessageId).not.toBe(id);
  });

  test("[92] of FIFO topics have a sequence number and no signature", async () => {
    const { topic, queue } = await pair({}, ".fifo");
    const sent = await site.sns.send(
      new PublishCommand({
        TopicArn: topic,
        Message: "x",
        MessageGroupId: "g",
        MessageDeduplicationId: "d",
      }),
    );
    const [message] = await site.drain(queue);
    expect(keysOf(message?.Body)).toEqual([
      "Type",
      "MessageId",
      "SequenceNumber",
      "TopicArn",
      "Message",
      "Timestamp",
      "UnsubscribeURL",
    ]);
    expect(JSON.parse(message?.Body as string).SequenceNumber).toBe(sent.SequenceNumber);
    expect(message?.Attributes?.SequenceNumber).not.toBe(sent.SequenceNumber);
  });

  test("[93] raw messages are the message, their attributes those of the queue", async () => {
    const { topic, queue } = await pair(RAW);
    await site.publish(topic, {
      Message: "bare",
      MessageAttributes: {
        list: { DataType: "String.Array", StringValue: '["a","b"]' },
        number: { DataType: "Number", StringValue: "99.12" },
        bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(1) },
      },
    });
    expect(await site.drain(queue)).toMatchObject([
      {
        Body: "bare",
        MessageAttributes: {
          list: { DataType: "String.Array", StringValue: '["a","b"]' },
          number: { DataType: "Number", StringValue: "99.12" },
          bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(1) },
        },
      },
    ]);
  });

  test("[107] the trace header of the request becomes the queue's", async () => {
    const { topic, queue } = await pair();
    const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";
    const parameters = { Action: "Publish", Version: "2010-03-31", TopicArn: topic, Message: "x" };
    await site.form(parameters, { "x-amzn-trace-id": trace });
    const [message] = await site.drain(queue);
    expect(message?.Attributes?.AWSTraceHeader).toBe(trace);
  });
});

describe("FIFO", () => {
  const publish = (TopicArn: string, Message: string, input: object = {}) =>
    site.sns.send(new PublishCommand({ TopicArn, Message, MessageGroupId: "g", ...input }));

  test("[94] what travels along depends on both sides", async () => {
    const topic = await site.topic("travel.fifo", { ContentBasedDeduplication: "true" });
    const fifo = await site.queue("travel.fifo");
    const standard = await site.queue("travel-standard");
    for (const queue of [fifo, standard]) await site.subscribe(topic, queue, RAW);
    await publish(topic, "test single");
    const [one] = await site.drain(fifo);
    const [two] = await site.drain(standard);
    expect(one?.Attributes).toMatchObject({
      MessageGroupId: "g",
      // SHA-256 of the message alone.
      MessageDeduplicationId: await sha256("test single"),
    });
    expect(two?.Attributes).not.toHaveProperty("MessageGroupId");
    expect(two?.Attributes).not.toHaveProperty("MessageDeduplicationId");
  });

  test("[94] a group on a standard topic reaches standard queues", async () => {
    const { topic, queue } = await pair();
    await site.publish(topic, { MessageGroupId: "tenant" });
    const [message] = await site.drain(queue);
    expect(message?.Attributes?.MessageGroupId).toBe("tenant");
  });

  test("[96] the topic deduplicates, even if the queue forgot or came later", async () => {
    const topic = await site.topic("dedup.fifo", { ContentBasedDeduplication: "true" });
    const first = await site.queue("dedup1.fifo");
    await site.subscribe(topic, first, RAW);
    const one = await publish(topic, "once");
    expect(await site.drain(first)).toHaveLength(1);
    const QueueUrl = `${site.cloud.endpoint}/000000000000/dedup1.fifo`;
    await site.sqs.send(new PurgeQueueCommand({ QueueUrl }));
    const second = await site.queue("dedup2.fifo");
    await site.subscribe(topic, second, RAW);
    const two = await publish(topic, "once");
    expect(two.MessageId).toBe(one.MessageId);
    expect([await site.drain(first), await site.drain(second)]).toEqual([[], []]);
    await site.cloud.clock.advance(300_000);
    await publish(topic, "once");
    expect(await site.drain(first)).toHaveLength(1);
    expect(await site.drain(second)).toHaveLength(1);
  });

  test("[96] all queues see the same order", async () => {
    const topic = await site.topic("order.fifo", { ContentBasedDeduplication: "true" });
    const queues = [await site.queue("order1.fifo"), await site.queue("order2.fifo")];
    for (const queue of queues) await site.subscribe(topic, queue, RAW);
    await Promise.all(Array.from({ length: 30 }, (_, n) => publish(topic, `m${n}`)));
    const [one, two] = await Promise.all(queues.map((queue) => site.drain(queue)));
    expect(one).toHaveLength(30);
    expect(two?.map(({ Body }) => Body)).toEqual(one?.map(({ Body }) => Body));
  });
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(digest).toString("hex");
}

describe("filters", () => {
  const set = (SubscriptionArn: string, AttributeName: string, AttributeValue: string) =>
    site.sns.send(
      new SetSubscriptionAttributesCommand({ SubscriptionArn, AttributeName, AttributeValue }),
    );

  test("[101] on attributes decide who gets a message", async () => {
    const { topic, queue, subscription } = await pair({
      ...RAW,
      FilterPolicy: '{"attr1":[{"numeric":[">",0,"<=",100]}]}',
    });
    const send = (Message: string, StringValue: string, DataType = "Number") =>
      site.publish(topic, { Message, MessageAttributes: { attr1: { DataType, StringValue } } });
    await send("in", "99.12");
    await send("out", "111");
    await send("text", "50", "String");
    await site.publish(topic, { Message: "none" });
    expect((await site.drain(queue)).map(({ Body }) => Body)).toEqual(["in"]);
    await set(subscription, "FilterPolicy", '{"attr1":[{"exists":false}]}');
    await send("has", "1");
    await site.publish(topic, { Message: "has not" });
    expect((await site.drain(queue)).map(({ Body }) => Body)).toEqual(["has not"]);
    await set(subscription, "FilterPolicy", "");
    await site.publish(topic, { Message: "all" });
    expect(await site.drain(queue)).toHaveLength(1);
  });

  test("[102] on the body look into JSON objects only", async () => {
    const { topic, queue } = await pair({
      ...RAW,
      FilterPolicyScope: "MessageBody",
      FilterPolicy: '{"object.nested":["string.value"]}',
    });
    const passing = ['{"object":{"nested":"string.value"}}', '{"object.nested":"string.value"}'];
    const others = ['{"object":{"nested":"x"}}', '"string.value"', "text", '[{"object":1}]'];
    for (const Message of [...passing, ...others]) await site.publish(topic, { Message });
    expect((await site.drain(queue)).map(({ Body }) => Body).sort()).toEqual(passing.sort());
  });

  test("[101] that are invalid change nothing", async () => {
    const { topic, queue, subscription } = await pair({ ...RAW, FilterPolicy: '{"a":["x"]}' });
    const refused = await site.refusal(set(subscription, "FilterPolicy", '{"a":"x"}'));
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: 'Invalid parameter: FilterPolicy: "a" must be an object or an array',
    });
    await site.publish(topic, {
      MessageAttributes: { a: { DataType: "String", StringValue: "x" } },
    });
    await site.publish(topic);
    expect(await site.drain(queue)).toHaveLength(1);
  });
});

describe("[103] dead letters of a subscription", () => {
  test.each([
    ["enveloped", {}],
    ["raw", RAW],
  ])("%s copies come as they would have been delivered", async (_, attributes) => {
    const dead = await site.queue(`dead${count}`);
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
    const { topic, queue } = await pair({ ...attributes, RedrivePolicy });
    const QueueUrl = `${site.cloud.endpoint}/000000000000/${queue.slice(QUEUE_PREFIX.length)}`;
    await site.sqs.send(new DeleteQueueCommand({ QueueUrl }));
    const MessageAttributes = { attr1: { DataType: "Number", StringValue: "1" } };
    await site.publish(topic, { Message: "lost", MessageAttributes });
    const [letter] = await site.drain(dead);
    if (attributes === RAW) {
      expect(letter).toMatchObject({ Body: "lost", MessageAttributes });
    } else {
      expect(JSON.parse(letter?.Body as string)).toMatchObject({
        Message: "lost",
        MessageAttributes: { attr1: { Type: "Number", Value: "1" } },
      });
      expect(letter?.MessageAttributes).toBeUndefined();
    }
  });
});
