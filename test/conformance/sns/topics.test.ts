import {
  AddPermissionCommand,
  ConfirmSubscriptionCommand,
  CreateTopicCommand,
  DeleteTopicCommand,
  GetSubscriptionAttributesCommand,
  GetTopicAttributesCommand,
  ListSubscriptionsByTopicCommand,
  ListSubscriptionsCommand,
  ListTagsForResourceCommand,
  ListTopicsCommand,
  PublishCommand,
  RemovePermissionCommand,
  SetSubscriptionAttributesCommand,
  SetTopicAttributesCommand,
  SubscribeCommand,
  TagResourceCommand,
  UnsubscribeCommand,
  UntagResourceCommand,
} from "@aws-sdk/client-sns";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openSnsServer,
  QUEUE_PREFIX,
  type SnsServer,
  TOPIC_PREFIX,
} from "../../support/sns-server.ts";

let server: SnsServer;
beforeAll(async () => {
  server = await openSnsServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const SHORT_ARN = "An ARN must have at least 6 elements, not";

describe("the protocol", () => {
  test("[89] responses are text/xml and have the request id", async () => {
    const reply = await server.form({ Action: "ListTopics", Version: "2010-03-31" });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe("text/xml");
    expect(reply.headers.get("x-amzn-requestid")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await reply.text()).toContain(
      '<ListTopicsResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ListTopicsResult>',
    );
  });

  test("[89] some actions have a result, others have none", async () => {
    const TopicArn = await server.topic("shapes");
    const Version = "2010-03-31";
    const created = await server.form({ Action: "CreateTopic", Name: "shapes", Version });
    expect(await created.text()).toContain("<CreateTopicResult><TopicArn>");
    const set = { AttributeName: "DisplayName", AttributeValue: "x", TopicArn };
    const without: Record<string, string>[] = [
      { Action: "SetTopicAttributes", ...set },
      { Action: "Unsubscribe", SubscriptionArn: `${TopicArn}:none` },
      { Action: "DeleteTopic", TopicArn },
    ];
    for (const parameters of without) {
      const text = await (await server.form({ Version, ...parameters })).text();
      expect(text).not.toContain("Result");
      expect(text).toContain("<ResponseMetadata><RequestId>");
    }
  });

  test("[89] errors have their code and status, and no Detail", async () => {
    const missing = { Action: "GetTopicAttributes", TopicArn: `${TOPIC_PREFIX}none` };
    const reply = await server.form(missing);
    expect(reply.status).toBe(404);
    const text = await reply.text();
    expect(text).toContain(
      "<Error><Type>Sender</Type><Code>NotFound</Code><Message>Topic does not exist</Message>" +
        "</Error><RequestId>",
    );
  });

  test("AddPermission is routed to SNS or SQS by its version, its signature or its parameters", async () => {
    const add = { Action: "AddPermission", Label: "l", TopicArn: `${TOPIC_PREFIX}none` };
    const scope = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sns/aws4_request, Signature=x";
    const replies = await Promise.all([
      server.form({ ...add, Version: "2010-03-31" }),
      server.form(add, { authorization: scope }),
      server.form({ ...add, Version: "2012-11-05" }),
      server.form(add),
    ]);
    const texts = await Promise.all(replies.map((reply) => reply.text()));
    expect(texts.map((text) => text.includes("sns.amazonaws.com"))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("topics", () => {
  test("[98] creating again returns the same topic; other attributes or tags are refused", async () => {
    const Tags = [{ Key: "k", Value: "v" }];
    const Attributes = { DisplayName: "One" };
    const create = (input: object) =>
      server.sns.send(new CreateTopicCommand({ Name: "same", ...input }));
    const first = await create({ Tags, Attributes });
    expect(await create({})).toMatchObject({ TopicArn: first.TopicArn });
    expect(await create({ Tags, Attributes })).toMatchObject({ TopicArn: first.TopicArn });
    const refused = await server.refusal(create({ Tags: [{ Key: "other", Value: "v" }] }));
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: "Invalid parameter: Tags Reason: Topic already exists with different tags",
    });
    const different = await server.refusal(create({ Attributes: { DisplayName: "Two" } }));
    expect(different.message).toContain("Topic already exists with different attributes");
  });

  test.each([
    ["with space", {}],
    ["", {}],
    ["a".repeat(257), {}],
    ["dotted.fifo", {}],
    ["plain", { FifoTopic: "true" }],
  ])("the name %j with %j is refused", async (Name, Attributes) => {
    const call = server.sns.send(new CreateTopicCommand({ Name, Attributes }));
    expect(await server.refusal(call)).toMatchObject({ code: "InvalidParameter", status: 400 });
  });

  test("[98] deleting a topic that does not exist succeeds", async () => {
    const TopicArn = await server.topic("short-lived");
    await server.sns.send(new DeleteTopicCommand({ TopicArn }));
    await server.sns.send(new DeleteTopicCommand({ TopicArn }));
    const gone = server.sns.send(new GetTopicAttributesCommand({ TopicArn }));
    expect(await server.refusal(gone)).toEqual({
      code: "NotFound",
      status: 404,
      message: "Topic does not exist",
    });
  });

  test("[98] publishing to an unknown topic, a malformed ARN or another region is refused", async () => {
    const publish = (TopicArn: string) =>
      server.refusal(server.sns.send(new PublishCommand({ TopicArn, Message: "x" })));
    expect(await publish(`${TOPIC_PREFIX}none`)).toEqual({
      code: "NotFound",
      status: 404,
      message: "Topic does not exist",
    });
    expect((await publish("randomstring")).message).toBe(
      `Invalid parameter: TopicArn Reason: ${SHORT_ARN} 1`,
    );
    expect((await publish("random:string")).message).toContain(`${SHORT_ARN} 2`);
    expect((await publish("")).message).toContain(`${SHORT_ARN} 1`);
    expect(await publish("arn:aws:sns:eu-west-1:000000000000:t")).toMatchObject({
      code: "InvalidParameter",
      message: "Invalid parameter: TopicArn",
    });
  });

  test("attributes are returned with their defaults and as set", async () => {
    const TopicArn = await server.topic("attributes.fifo");
    const read = async () =>
      (await server.sns.send(new GetTopicAttributesCommand({ TopicArn }))).Attributes;
    expect(await read()).toMatchObject({
      TopicArn,
      Owner: "000000000000",
      DisplayName: "",
      FifoTopic: "true",
      ContentBasedDeduplication: "false",
      SubscriptionsConfirmed: "0",
      SubscriptionsPending: "0",
      SubscriptionsDeleted: "0",
    });
    const policy = JSON.parse((await read())?.Policy as string);
    expect(policy.Statement[0]).toMatchObject({
      Sid: "__default_statement_ID",
      Resource: TopicArn,
      Condition: { StringEquals: { "AWS:SourceOwner": "000000000000" } },
    });
    const values = {
      DisplayName: "Shown",
      ContentBasedDeduplication: "true",
      FifoThroughputScope: "MessageGroup",
      KmsMasterKeyId: "alias/key",
      SignatureVersion: "2",
      TracingConfig: "Active",
      ArchivePolicy: '{"MessageRetentionPeriod":"30"}',
      SQSSuccessFeedbackSampleRate: "100",
    };
    for (const [AttributeName, AttributeValue] of Object.entries(values)) {
      const input = { TopicArn, AttributeName, AttributeValue };
      await server.sns.send(new SetTopicAttributesCommand(input));
    }
    expect(await read()).toMatchObject(values);
    expect((await read())?.BeginningArchiveTime).toMatch(/Z$/);
  });

  test.each([
    ["Unknown", "x"],
    ["FifoTopic", "true"],
    ["SignatureVersion", "3"],
    ["ContentBasedDeduplication", "true"],
    ["MaximumMessageSize", "1048577"],
    ["Policy", "no JSON"],
    ["TracingConfig", "On"],
  ])("the attribute %s of a standard topic cannot be %j", async (AttributeName, AttributeValue) => {
    const TopicArn = await server.topic("refusing");
    const input = { TopicArn, AttributeName, AttributeValue };
    const call = server.sns.send(new SetTopicAttributesCommand(input));
    expect(await server.refusal(call)).toMatchObject({ code: "InvalidParameter", status: 400 });
  });

  test("tags are added, changed and removed, and duplicate keys are refused", async () => {
    const ResourceArn = await server.topic("tagged");
    const tag = (...Tags: { Key: string; Value: string }[]) =>
      server.sns.send(new TagResourceCommand({ ResourceArn, Tags }));
    const list = async () =>
      (await server.sns.send(new ListTagsForResourceCommand({ ResourceArn }))).Tags;
    await tag({ Key: "k1", Value: "v1" }, { Key: "k2", Value: "v2" });
    await tag({ Key: "k2", Value: "v2b" });
    await server.sns.send(new UntagResourceCommand({ ResourceArn, TagKeys: ["k1"] }));
    expect(await list()).toEqual([{ Key: "k2", Value: "v2b" }]);
    const twice = tag({ Key: "k", Value: "1" }, { Key: "k", Value: "2" });
    expect((await server.refusal(twice)).message).toBe(
      "Invalid parameter: Duplicated keys are not allowed.",
    );
    const many = Array.from({ length: 51 }, (_, n) => ({ Key: `t${n}`, Value: "" }));
    expect(await server.refusal(tag(...many))).toMatchObject({ code: "TagLimitExceeded" });
    const missing = { ResourceArn: `${TOPIC_PREFIX}none` };
    const call = server.sns.send(new ListTagsForResourceCommand(missing));
    expect(await server.refusal(call)).toMatchObject({ code: "ResourceNotFound", status: 404 });
  });

  test("permissions are statements of the policy", async () => {
    const TopicArn = await server.topic("permitted");
    const add = (Label: string, ...ActionName: string[]) =>
      server.sns.send(
        new AddPermissionCommand({ TopicArn, Label, AWSAccountId: ["111111111111"], ActionName }),
      );
    await add("mine", "Publish");
    const statements = async () => {
      const read = await server.sns.send(new GetTopicAttributesCommand({ TopicArn }));
      return JSON.parse(read.Attributes?.Policy as string).Statement as object[];
    };
    expect((await statements())[1]).toEqual({
      Sid: "mine",
      Effect: "Allow",
      Principal: { AWS: "arn:aws:iam::111111111111:root" },
      Action: "SNS:Publish",
      Resource: TopicArn,
    });
    expect((await server.refusal(add("mine", "Publish"))).message).toBe(
      "Invalid parameter: Statement already exists",
    );
    expect((await server.refusal(add("other", "Fly"))).message).toBe(
      "Invalid parameter: Policy statement action out of service scope!",
    );
    await server.sns.send(new RemovePermissionCommand({ TopicArn, Label: "mine" }));
    expect(await statements()).toHaveLength(1);
  });

  test("lists have 100 entries per page", async () => {
    await using own = await openSnsServer();
    for (let n = 0; n < 101; n += 1) await own.topic(`t${n}`);
    const first = await own.sns.send(new ListTopicsCommand({}));
    expect(first.Topics).toHaveLength(100);
    const NextToken = first.NextToken as string;
    const second = await own.sns.send(new ListTopicsCommand({ NextToken }));
    expect(second.Topics).toHaveLength(1);
    expect(second.NextToken).toBeUndefined();
    const arns = [...(first.Topics ?? []), ...(second.Topics ?? [])].map((t) => t.TopicArn);
    expect(new Set(arns).size).toBe(101);
    const bad = own.sns.send(new ListTopicsCommand({ NextToken: "?" }));
    expect(await own.refusal(bad)).toMatchObject({ code: "InvalidParameter" });
  });
});

describe("subscriptions", () => {
  const subscribe = (TopicArn: string, Endpoint: string, input: object = {}) =>
    server.sns.send(new SubscribeCommand({ TopicArn, Endpoint, Protocol: "sqs", ...input }));

  test("[95] a FIFO queue cannot be subscribed to a standard topic", async () => {
    const topic = await server.topic("plain-topic");
    expect((await server.refusal(subscribe(topic, `${QUEUE_PREFIX}q.fifo`))).message).toBe(
      "Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be " +
        "subscribed to standard SNS topics",
    );
  });

  test("[97] subscribing again returns the same subscription unless attributes differ", async () => {
    const topic = await server.topic("again");
    const queue = `${QUEUE_PREFIX}need-not-exist`;
    const Attributes = { RawMessageDelivery: "true", FilterPolicy: '{"a":["b"]}' };
    const first = await subscribe(topic, queue, { Attributes });
    for (const same of [{}, { RawMessageDelivery: "true" }, Attributes]) {
      const again = await subscribe(topic, queue, { Attributes: same });
      expect(again.SubscriptionArn).toBe(first.SubscriptionArn);
    }
    const other = subscribe(topic, queue, { Attributes: { RawMessageDelivery: "false" } });
    expect((await server.refusal(other)).message).toBe(
      "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
    );
  });

  test("[97] an endpoint must match its protocol", async () => {
    const topic = await server.topic("endpoints");
    const message = async (call: Promise<unknown>) => (await server.refusal(call)).message;
    expect(await message(subscribe(topic, "http://localhost/000000000000/q"))).toBe(
      "Invalid parameter: SQS endpoint ARN",
    );
    expect(await message(subscribe(topic, "x", { Protocol: "test-protocol" }))).toBe(
      "Invalid parameter: Amazon SNS does not support this protocol string: test-protocol",
    );
    expect(await message(subscribe(topic, "https://x", { Protocol: "http" }))).toBe(
      "Invalid parameter: Endpoint must match the specified protocol",
    );
    expect(await message(subscribe(topic, "a@b", { Protocol: "email" }))).toContain("email");
    expect(await message(subscribe(`${TOPIC_PREFIX}none`, `${QUEUE_PREFIX}q`))).toBe(
      "Topic does not exist",
    );
  });

  test("[98] unsubscribing an unknown subscription succeeds; a malformed ARN is refused", async () => {
    const topic = await server.topic("unsubscribed");
    const unsubscribe = (SubscriptionArn: string) =>
      server.sns.send(new UnsubscribeCommand({ SubscriptionArn }));
    await unsubscribe(`${topic}:${crypto.randomUUID()}`);
    expect((await server.refusal(unsubscribe("broken"))).message).toBe(
      `Invalid parameter: SubscriptionArn Reason: ${SHORT_ARN} 1`,
    );
    const arn = await server.subscribe(topic, `${QUEUE_PREFIX}q`);
    await unsubscribe(arn);
    const read = await server.sns.send(new GetTopicAttributesCommand({ TopicArn: topic }));
    expect(read.Attributes).toMatchObject({
      SubscriptionsConfirmed: "0",
      SubscriptionsDeleted: "1",
    });
  });

  test("[100] attributes of a subscription are returned, with the scope only if it has a filter", async () => {
    const topic = await server.topic("read-back");
    const SubscriptionArn = await server.subscribe(topic, `${QUEUE_PREFIX}q`);
    const read = async () =>
      (await server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }))).Attributes;
    const set = (AttributeName: string, AttributeValue: string) =>
      server.sns.send(
        new SetSubscriptionAttributesCommand({ SubscriptionArn, AttributeName, AttributeValue }),
      );
    expect(await read()).toEqual({
      ConfirmationWasAuthenticated: "true",
      Endpoint: `${QUEUE_PREFIX}q`,
      Owner: "000000000000",
      PendingConfirmation: "false",
      Protocol: "sqs",
      RawMessageDelivery: "false",
      SubscriptionArn,
      SubscriptionPrincipal: expect.stringMatching(/^arn:aws:iam::000000000000:user\//),
      TopicArn: topic,
    });
    await set("FilterPolicyScope", "MessageBody");
    expect(await read()).not.toHaveProperty("FilterPolicyScope");
    await set("FilterPolicy", '{"object":{"key":[{"prefix":"auto-"}]}}');
    expect(await read()).toMatchObject({
      FilterPolicy: '{"object":{"key":[{"prefix":"auto-"}]}}',
      FilterPolicyScope: "MessageBody",
    });
    const nested = await server.refusal(set("FilterPolicyScope", "MessageAttributes"));
    expect(nested.message).toBe(
      "Invalid parameter: Filter policy scope MessageAttributes does not support nested filter " +
        "policy",
    );
    await set("FilterPolicy", "");
    expect(await read()).not.toHaveProperty("FilterPolicy");
  });

  test("a client may write RawMessageDelivery as True", async () => {
    const topic = await server.topic("any-case");
    const SubscriptionArn = await server.subscribe(topic, `${QUEUE_PREFIX}q`);
    const input = { SubscriptionArn, AttributeName: "RawMessageDelivery", AttributeValue: "True" };
    await server.sns.send(new SetSubscriptionAttributesCommand(input));
    const shown = await server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    expect(shown.Attributes?.RawMessageDelivery).toBe("true");
  });

  test.each([
    ["Fake", "x", "AttributeName"],
    [
      "RawMessageDelivery",
      "yes",
      "RawMessageDelivery: Invalid value [yes]. Must be true or false.",
    ],
    ["RawMessageDelivery", "", "RawMessageDelivery: Invalid value []. Must be true or false."],
    [
      "FilterPolicyScope",
      "RandomValue",
      "FilterPolicyScope: Invalid value [RandomValue]. Please use either MessageBody or " +
        "MessageAttributes",
    ],
    [
      "RedrivePolicy",
      '{"deadLetterTargetArn":"fake"}',
      "RedrivePolicy: deadLetterTargetArn is an invalid arn",
    ],
    ["RedrivePolicy", "{invalid}", "RedrivePolicy: failed to parse JSON."],
    ["FilterPolicy", "{invalid}", "FilterPolicy: failed to parse JSON."],
  ])("[100][101] %s cannot be %j", async (AttributeName, AttributeValue, reason) => {
    const topic = await server.topic("validating");
    const SubscriptionArn = await server.subscribe(topic, `${QUEUE_PREFIX}q`);
    const input = { SubscriptionArn, AttributeName, AttributeValue };
    const refused = await server.refusal(
      server.sns.send(new SetSubscriptionAttributesCommand(input)),
    );
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: `Invalid parameter: ${reason}`,
    });
    if (AttributeName === "Fake") return;
    const Attributes = { [AttributeName]: AttributeValue };
    const atOnce = await server.refusal(subscribe(topic, `${QUEUE_PREFIX}other`, { Attributes }));
    expect(atOnce.message).toBe(`Invalid parameter: Attributes Reason: ${reason}`);
  });

  test("[103] a FIFO subscription needs a FIFO dead-letter queue", async () => {
    const topic = await server.topic("fifo-dead.fifo");
    const Attributes = {
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: `${QUEUE_PREFIX}dead` }),
    };
    const call = subscribe(topic, `${QUEUE_PREFIX}q.fifo`, { Attributes });
    expect((await server.refusal(call)).message).toBe(
      "Invalid parameter: Attributes Reason: RedrivePolicy: must use a FIFO queue as DLQ for a " +
        "FIFO Subscription to a FIFO Topic.",
    );
  });

  test("unknown subscriptions and tokens are refused", async () => {
    const SubscriptionArn = `${TOPIC_PREFIX}t:${crypto.randomUUID()}`;
    const get = server.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    const missing = { code: "NotFound", status: 404, message: "Subscription does not exist" };
    expect(await server.refusal(get)).toEqual(missing);
    const confirm = (Token: string) =>
      server.sns.send(new ConfirmSubscriptionCommand({ TopicArn: `${TOPIC_PREFIX}t`, Token }));
    expect((await server.refusal(confirm("x"))).message).toBe("Invalid token");
    expect((await server.refusal(confirm("ab".repeat(144)))).message).toBe(
      "Invalid parameter: Token",
    );
  });

  test("lists have 100 entries per page, for one topic or for all", async () => {
    await using own = await openSnsServer();
    const one = await own.topic("one");
    const two = await own.topic("two");
    for (let n = 0; n < 101; n += 1) await own.subscribe(one, `${QUEUE_PREFIX}q${n}`);
    await own.subscribe(two, `${QUEUE_PREFIX}q`);
    const page = (NextToken?: string) =>
      own.sns.send(new ListSubscriptionsCommand(NextToken === undefined ? {} : { NextToken }));
    const first = await page();
    const second = await page(first.NextToken);
    expect([first.Subscriptions?.length, second.Subscriptions?.length]).toEqual([100, 2]);
    const of = await own.sns.send(new ListSubscriptionsByTopicCommand({ TopicArn: two }));
    expect(of.Subscriptions).toMatchObject([
      { TopicArn: two, Endpoint: `${QUEUE_PREFIX}q`, Protocol: "sqs", Owner: "000000000000" },
    ]);
  });
});
