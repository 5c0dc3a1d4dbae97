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

let server: SnsServer;
let count = 0;
beforeAll(async () => {
  server = await openSnsServer();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Pair {
  readonly topic: string;
  readonly queue: string;
  readonly subscription: string;
}

/** A new topic and queue for each test. */
async function pair(attributes: Record<string, string> = {}, suffix = ""): Promise<Pair> {
  count += 1;
  const topic = await server.topic(`t${count}${suffix}`);
  const queue = await server.queue(`q${count}${suffix}`);
  return { topic, queue, subscription: await server.subscribe(topic, queue, attributes) };
}

const RAW = { RawMessageDelivery: "true" };

describe("a publish", () => {
  const refused = (input: Partial<PublishCommandInput>, topic?: string) =>
    server.refusal(
      server.sns.send(
        new PublishCommand({ TopicArn: topic ?? `${TOPIC_PREFIX}any`, Message: "x", ...input }),
      ),
    );

  test("[90] has at most 262,144 bytes including attributes", async () => {
    const { topic, queue } = await pair(RAW);
    await server.publish(topic, { Message: "x".repeat(262_144) });
    expect(await server.drain(queue)).toHaveLength(1);
    const tooLong = {
      code: "InvalidParameter",
      status: 400,
      message: "Invalid parameter: Message too long",
    };
    expect(await refused({ Message: "x".repeat(262_145) }, topic)).toEqual(tooLong);
    const MessageAttributes = { a: { DataType: "String", StringValue: "v" } };
    const Message = "x".repeat(262_144 - "aStringv".length);
    await server.publish(topic, { Message, MessageAttributes });
    expect(await refused({ Message: `${Message}x`, MessageAttributes }, topic)).toEqual(tooLong);
    expect(await refused({ Message: "ä".repeat(131_073) }, topic)).toEqual(tooLong);
  });

  test("[99] needs a non-empty message and, if given, a non-empty subject", async () => {
    expect((await refused({ Message: "" })).message).toBe("Invalid parameter: Empty message");
    for (const Subject of ["", "a\nb", "x".repeat(101)]) {
      expect((await refused({ Subject })).message).toBe("Invalid parameter: Subject");
    }
  });

  test("[99] with a message per protocol needs a default and delivers by protocol", async () => {
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
      await server.publish(topic, { Message: JSON.stringify(message), MessageStructure });
    }
    const bodies = (await server.drain(queue)).map(({ Body }) => Body).sort();
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
  ])(
    "[89] with invalid attributes is refused as ParameterValueInvalid: %j",
    async (attributes, message) => {
      const [name, given] = Object.entries(attributes)[0] as [string, object];
      const MessageAttributes = { [name]: { DataType: "String", StringValue: "v", ...given } };
      expect(await refused({ MessageAttributes })).toEqual({
        code: "ParameterValueInvalid",
        status: 400,
        message,
      });
    },
  );

  test("[95] to a FIFO topic needs a group and an id; standard topics refuse an id", async () => {
    const fifo = await server.topic("needs.fifo");
    const standard = await server.topic("needs-none");
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

  test("accepts a topic as its target, but not phones and endpoints", async () => {
    const { topic, queue } = await pair();
    await server.sns.send(new PublishCommand({ TargetArn: topic, Message: "x" }));
    expect(await server.drain(queue)).toHaveLength(1);
    const TargetArn = "arn:aws:sns:us-east-1:000000000000:endpoint/APNS/app/id";
    const call = server.sns.send(new PublishCommand({ TargetArn, Message: "x" }));
    expect((await server.refusal(call)).message).toBe(
      "Invalid parameter: TargetArn Reason: No endpoint found for the target arn specified",
    );
  });
});

describe("batches", () => {
  const batch = (TopicArn: string, entries: PublishBatchRequestEntry[]) =>
    server.sns.send(new PublishBatchCommand({ TopicArn, PublishBatchRequestEntries: entries }));

  test("return each entry's id, and a sequence number on FIFO topics", async () => {
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
    expect((await server.drain(queue)).map(({ Body }) => Body)).toEqual(["m1", "m2"]);
  });

  test("[90] are refused as a whole if they are too long in total", async () => {
    const { topic, queue } = await pair(RAW);
    const entries = [1, 2].map((n) => ({ Id: `${n}`, Message: "x".repeat(131_073) }));
    expect(await server.refusal(batch(topic, entries))).toEqual({
      code: "BatchRequestTooLong",
      status: 400,
      message: "The length of all the messages put together is more than the limit.",
    });
    expect(await server.drain(queue)).toEqual([]);
  });

  test.each<[string, PublishBatchRequestEntry[]]>([
    ["TooManyEntriesInBatchRequest", Array.from({ length: 11 }, (_, n) => entry(`${n}`))],
    ["BatchEntryIdsNotDistinct", [entry("1"), entry("1")]],
    ["InvalidBatchEntryId", [entry("a b")]],
    ["InvalidBatchEntryId", [entry("x".repeat(81))]],
    ["EmptyBatchRequest", []],
    ["NotFound", [entry("1")]],
  ])("are refused with %s", async (code, entries) => {
    const topic = code === "NotFound" ? `${TOPIC_PREFIX}none` : await server.topic("batches");
    expect(await server.refusal(batch(topic, entries))).toMatchObject({ code });
  });
});

function entry(Id: string): PublishBatchRequestEntry {
  return { Id, Message: "x" };
}

describe("envelopes", () => {
  const keysOf = (body: string | undefined) => Object.keys(JSON.parse(body as string));

  test("[91] have AWS's keys in AWS's order, with bytes in base64", async () => {
    const { topic, queue, subscription } = await pair();
    const id = await server.publish(topic, {
      Message: 'ö§a1"_!?,. £$-\r\n',
      Subject: "Sübject",
      MessageAttributes: {
        text: { DataType: "String", StringValue: "x" },
        bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(2, 3, 4) },
      },
    });
    const [message] = await server.drain(queue);
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
      Timestamp: new Date(server.cloud.clock.now()).toISOString(),
      SignatureVersion: "1",
      UnsubscribeURL: `${server.cloud.endpoint}/?Action=Unsubscribe&SubscriptionArn=${subscription}`,
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
    const sent = await server.sns.send(
      new PublishCommand({
        TopicArn: topic,
        Message: "x",
        MessageGroupId: "g",
        MessageDeduplicationId: "d",
      }),
    );
    const [message] = await server.drain(queue);
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

  test("[93] are omitted in raw delivery, and attributes become those of the queue message", async () => {
    const { topic, queue } = await pair(RAW);
    await server.publish(topic, {
      Message: "bare",
      MessageAttributes: {
        list: { DataType: "String.Array", StringValue: '["a","b"]' },
        number: { DataType: "Number", StringValue: "99.12" },
        bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(1) },
      },
    });
    expect(await server.drain(queue)).toMatchObject([
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

  test("[107] are sent with the trace header of the request", async () => {
    const { topic, queue } = await pair();
    const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";
    const parameters = { Action: "Publish", Version: "2010-03-31", TopicArn: topic, Message: "x" };
    await server.form(parameters, { "x-amzn-trace-id": trace });
    const [message] = await server.drain(queue);
    expect(message?.Attributes?.AWSTraceHeader).toBe(trace);
  });
});

describe("FIFO", () => {
  const publish = (TopicArn: string, Message: string, input: object = {}) =>
    server.sns.send(new PublishCommand({ TopicArn, Message, MessageGroupId: "g", ...input }));

  test("[94] group and id are passed on depending on the types of topic and queue", async () => {
    const topic = await server.topic("travel.fifo", { ContentBasedDeduplication: "true" });
    const fifo = await server.queue("travel.fifo");
    const standard = await server.queue("travel-standard");
    for (const queue of [fifo, standard]) await server.subscribe(topic, queue, RAW);
    await publish(topic, "test single");
    const [one] = await server.drain(fifo);
    const [two] = await server.drain(standard);
    expect(one?.Attributes).toMatchObject({
      MessageGroupId: "g",
      // SHA-256 of the message alone.
      MessageDeduplicationId: await sha256("test single"),
    });
    expect(two?.Attributes).not.toHaveProperty("MessageGroupId");
    expect(two?.Attributes).not.toHaveProperty("MessageDeduplicationId");
  });

  test("[94] a group id on a standard topic is passed on to standard queues", async () => {
    const { topic, queue } = await pair();
    await server.publish(topic, { MessageGroupId: "tenant" });
    const [message] = await server.drain(queue);
    expect(message?.Attributes?.MessageGroupId).toBe("tenant");
  });

  test("[96] the topic deduplicates, even for a purged or a newly subscribed queue", async () => {
    const topic = await server.topic("dedup.fifo", { ContentBasedDeduplication: "true" });
    const first = await server.queue("dedup1.fifo");
    await server.subscribe(topic, first, RAW);
    const one = await publish(topic, "once");
    expect(await server.drain(first)).toHaveLength(1);
    const QueueUrl = `${server.cloud.endpoint}/000000000000/dedup1.fifo`;
    await server.sqs.send(new PurgeQueueCommand({ QueueUrl }));
    const second = await server.queue("dedup2.fifo");
    await server.subscribe(topic, second, RAW);
    const two = await publish(topic, "once");
    expect(two.MessageId).toBe(one.MessageId);
    expect([await server.drain(first), await server.drain(second)]).toEqual([[], []]);
    await server.cloud.clock.advance(300_000);
    await publish(topic, "once");
    expect(await server.drain(first)).toHaveLength(1);
    expect(await server.drain(second)).toHaveLength(1);
  });

  test("[96] all queues get the same order", async () => {
    const topic = await server.topic("order.fifo", { ContentBasedDeduplication: "true" });
    const queues = [await server.queue("order1.fifo"), await server.queue("order2.fifo")];
    for (const queue of queues) await server.subscribe(topic, queue, RAW);
    await Promise.all(Array.from({ length: 30 }, (_, n) => publish(topic, `m${n}`)));
    const [one, two] = await Promise.all(queues.map((queue) => server.drain(queue)));
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
    server.sns.send(
      new SetSubscriptionAttributesCommand({ SubscriptionArn, AttributeName, AttributeValue }),
    );

  test("[101] on attributes decide which subscriptions get a message", async () => {
    const { topic, queue, subscription } = await pair({
      ...RAW,
      FilterPolicy: '{"attr1":[{"numeric":[">",0,"<=",100]}]}',
    });
    const send = (Message: string, StringValue: string, DataType = "Number") =>
      server.publish(topic, { Message, MessageAttributes: { attr1: { DataType, StringValue } } });
    await send("in", "99.12");
    await send("out", "111");
    await send("text", "50", "String");
    await server.publish(topic, { Message: "none" });
    expect((await server.drain(queue)).map(({ Body }) => Body)).toEqual(["in"]);
    await set(subscription, "FilterPolicy", '{"attr1":[{"exists":false}]}');
    await send("has", "1");
    await server.publish(topic, { Message: "has not" });
    expect((await server.drain(queue)).map(({ Body }) => Body)).toEqual(["has not"]);
    await set(subscription, "FilterPolicy", "");
    await server.publish(topic, { Message: "all" });
    expect(await server.drain(queue)).toHaveLength(1);
  });

  test("[102] on the body match only JSON objects", async () => {
    const { topic, queue } = await pair({
      ...RAW,
      FilterPolicyScope: "MessageBody",
      FilterPolicy: '{"object.nested":["string.value"]}',
    });
    const passing = ['{"object":{"nested":"string.value"}}', '{"object.nested":"string.value"}'];
    const others = ['{"object":{"nested":"x"}}', '"string.value"', "text", '[{"object":1}]'];
    for (const Message of [...passing, ...others]) await server.publish(topic, { Message });
    expect((await server.drain(queue)).map(({ Body }) => Body).sort()).toEqual(passing.sort());
  });

  test("[101] that are invalid are refused and change nothing", async () => {
    const { topic, queue, subscription } = await pair({ ...RAW, FilterPolicy: '{"a":["x"]}' });
    const refused = await server.refusal(set(subscription, "FilterPolicy", '{"a":"x"}'));
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: 'Invalid parameter: FilterPolicy: "a" must be an object or an array',
    });
    await server.publish(topic, {
      MessageAttributes: { a: { DataType: "String", StringValue: "x" } },
    });
    await server.publish(topic);
    expect(await server.drain(queue)).toHaveLength(1);
  });
});

describe("[103] dead letters of a subscription", () => {
  test.each([
    ["enveloped", {}],
    ["raw", RAW],
  ])("%s copies have the format in which they would have been delivered", async (_, attributes) => {
    const dead = await server.queue(`dead${count}`);
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead });
    const { topic, queue } = await pair({ ...attributes, RedrivePolicy });
    const QueueUrl = `${server.cloud.endpoint}/000000000000/${queue.slice(QUEUE_PREFIX.length)}`;
    await server.sqs.send(new DeleteQueueCommand({ QueueUrl }));
    const MessageAttributes = { attr1: { DataType: "Number", StringValue: "1" } };
    await server.publish(topic, { Message: "lost", MessageAttributes });
    const [deadLetter] = await server.drain(dead);
    if (attributes === RAW) {
      expect(deadLetter).toMatchObject({ Body: "lost", MessageAttributes });
    } else {
      expect(JSON.parse(deadLetter?.Body as string)).toMatchObject({
        Message: "lost",
        MessageAttributes: { attr1: { Type: "Number", Value: "1" } },
      });
      expect(deadLetter?.MessageAttributes).toBeUndefined();
    }
  });
});
