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

let site: SnsServer;
beforeAll(async () => {
  site = await openSnsServer();
});
afterAll(() => site[Symbol.asyncDispose]());

const SHORT_ARN = "An ARN must have at least 6 elements, not";

describe("the protocol", () => {
  test("[89] answers are text/xml and tell the request's id", async () => {
    const reply = await site.form({ Action: "ListTopics", Version: "2010-03-31" });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("content-type")).toBe("text/xml");
    expect(reply.headers.get("x-amzn-requestid")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await reply.text()).toContain(
      '<ListTopicsResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><ListTopicsResult>',
    );
  });

  test("[89] some actions have a result, others have none", async () => {
    const TopicArn = await site.topic("shapes");
    const Version = "2010-03-31";
    const created = await site.form({ Action: "CreateTopic", Name: "shapes", Version });
    expect(await created.text()).toContain("<CreateTopicResult><TopicArn>");
    const set = { AttributeName: "DisplayName", AttributeValue: "x", TopicArn };
    const without: Record<string, string>[] = [
      { Action: "SetTopicAttributes", ...set },
      { Action: "Unsubscribe", SubscriptionArn: `${TopicArn}:none` },
      { Action: "DeleteTopic", TopicArn },
    ];
    for (const parameters of without) {
      const text = await (await site.form({ Version, ...parameters })).text();
      expect(text).not.toContain("Result");
      expect(text).toContain("<ResponseMetadata><RequestId>");
    }
  });

  test("[89] errors have their code and status, and no Detail", async () => {
    const missing = { Action: "GetTopicAttributes", TopicArn: `${TOPIC_PREFIX}none` };
    const reply = await site.form(missing);
    expect(reply.status).toBe(404);
    const text = await reply.text();
    expect(text).toContain(
      "<Error><Type>Sender</Type><Code>NotFound</Code><Message>Topic does not exist</Message>" +
        "</Error><RequestId>",
    );
  });

  test("AddPermission is SNS's or SQS's by its version, its signature or its parameters", async () => {
    const add = { Action: "AddPermission", Label: "l", TopicArn: `${TOPIC_PREFIX}none` };
    const scope = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/sns/aws4_request, Signature=x";
    const replies = await Promise.all([
      site.form({ ...add, Version: "2010-03-31" }),
      site.form(add, { authorization: scope }),
      site.form({ ...add, Version: "2012-11-05" }),
      site.form(add),
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
  test("[98] creating again gives the same topic; other attributes or tags are refused", async () => {
    const Tags = [{ Key: "k", Value: "v" }];
    const Attributes = { DisplayName: "One" };
    const create = (input: object) =>
      site.sns.send(new CreateTopicCommand({ Name: "same", ...input }));
    const first = await create({ Tags, Attributes });
    expect(await create({})).toMatchObject({ TopicArn: first.TopicArn });
    expect(await create({ Tags, Attributes })).toMatchObject({ TopicArn: first.TopicArn });
    const refused = await site.refusal(create({ Tags: [{ Key: "other", Value: "v" }] }));
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: "Invalid parameter: Tags Reason: Topic already exists with different tags",
    });
    const different = await site.refusal(create({ Attributes: { DisplayName: "Two" } }));
    expect(different.message).toContain("Topic already exists with different attributes");
  });

  test.each([
    ["with space", {}],
    ["", {}],
    ["a".repeat(257), {}],
    ["dotted.fifo", {}],
    ["plain", { FifoTopic: "true" }],
  ])("the name %j with %j is refused", async (Name, Attributes) => {
    const call = site.sns.send(new CreateTopicCommand({ Name, Attributes }));
    expect(await site.refusal(call)).toMatchObject({ code: "InvalidParameter", status: 400 });
  });

  test("[98] deleting is done already when there is nothing to delete", async () => {
    const TopicArn = await site.topic("short-lived");
    await site.sns.send(new DeleteTopicCommand({ TopicArn }));
    await site.sns.send(new DeleteTopicCommand({ TopicArn }));
    const gone = site.sns.send(new GetTopicAttributesCommand({ TopicArn }));
    expect(await site.refusal(gone)).toEqual({
      code: "NotFound",
      status: 404,
      message: "Topic does not exist",
    });
  });

  test("[98] publishing to an unknown topic, a broken ARN or another region", async () => {
    const publish = (TopicArn: string) =>
      site.refusal(site.sns.send(new PublishCommand({ TopicArn, Message: "x" })));
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

  test("attributes read back with their defaults, and as they were set", async () => {
    const TopicArn = await site.topic("attributes.fifo");
    const read = async () =>
      (await site.sns.send(new GetTopicAttributesCommand({ TopicArn }))).Attributes;
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
      await site.sns.send(new SetTopicAttributesCommand(input));
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
  ])(
    "the attribute %s of a standard topic can not be %j",
    async (AttributeName, AttributeValue) => {
      const TopicArn = await site.topic("refusing");
      const input = { TopicArn, AttributeName, AttributeValue };
      const call = site.sns.send(new SetTopicAttributesCommand(input));
      expect(await site.refusal(call)).toMatchObject({ code: "InvalidParameter", status: 400 });
    },
  );

  test("tags are added, changed, taken away, and not given twice", async () => {
    const ResourceArn = await site.topic("tagged");
    const tag = (...Tags: { Key: string; Value: string }[]) =>
      site.sns.send(new TagResourceCommand({ ResourceArn, Tags }));
    const list = async () =>
      (await site.sns.send(new ListTagsForResourceCommand({ ResourceArn }))).Tags;
    await tag({ Key: "k1", Value: "v1" }, { Key: "k2", Value: "v2" });
    await tag({ Key: "k2", Value: "v2b" });
    await site.sns.send(new UntagResourceCommand({ ResourceArn, TagKeys: ["k1"] }));
    expect(await list()).toEqual([{ Key: "k2", Value: "v2b" }]);
    const twice = tag({ Key: "k", Value: "1" }, { Key: "k", Value: "2" });
    expect((await site.refusal(twice)).message).toBe(
      "Invalid parameter: Duplicated keys are not allowed.",
    );
    const many = Array.from({ length: 51 }, (_, n) => ({ Key: `t${n}`, Value: "" }));
    expect(await site.refusal(tag(...many))).toMatchObject({ code: "TagLimitExceeded" });
    const missing = { ResourceArn: `${TOPIC_PREFIX}none` };
    const call = site.sns.send(new ListTagsForResourceCommand(missing));
    expect(await site.refusal(call)).toMatchObject({ code: "ResourceNotFound", status: 404 });
  });

  test("permissions are statements of the policy", async () => {
    const TopicArn = await site.topic("permitted");
    const add = (Label: string, ...ActionName: string[]) =>
      site.sns.send(
        new AddPermissionCommand({ TopicArn, Label, AWSAccountId: ["111111111111"], ActionName }),
      );
    await add("mine", "Publish");
    const statements = async () => {
      const read = await site.sns.send(new GetTopicAttributesCommand({ TopicArn }));
      return JSON.parse(read.Attributes?.Policy as string).Statement as object[];
    };
    expect((await statements())[1]).toEqual({
      Sid: "mine",
      Effect: "Allow",
      Principal: { AWS: "arn:aws:iam::111111111111:root" },
      Action: "SNS:Publish",
      Resource: TopicArn,
    });
    expect((await site.refusal(add("mine", "Publish"))).message).toBe(
      "Invalid parameter: Statement already exists",
    );
    expect((await site.refusal(add("other", "Fly"))).message).toBe(
      "Invalid parameter: Policy statement action out of service scope!",
    );
    await site.sns.send(new RemovePermissionCommand({ TopicArn, Label: "mine" }));
    expect(await statements()).toHaveLength(1);
  });

  test("lists come a hundred a page", async () => {
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
    site.sns.send(new SubscribeCommand({ TopicArn, Endpoint, Protocol: "sqs", ...input }));

  test("[95] a FIFO queue can not be subscribed to a standard topic", async () => {
    const topic = await site.topic("plain-topic");
    expect((await site.refusal(subscribe(topic, `${QUEUE_PREFIX}q.fifo`))).message).toBe(
      "Invalid parameter: Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be " +
        "subscribed to standard SNS topics",
    );
  });

  test("[97] subscribing again is the same subscription unless attributes differ", async () => {
    const topic = await site.topic("again");
    const queue = `${QUEUE_PREFIX}need-not-exist`;
    const Attributes = { RawMessageDelivery: "true", FilterPolicy: '{"a":["b"]}' };
    const first = await subscribe(topic, queue, { Attributes });
    for (const same of [{}, { RawMessageDelivery: "true" }, Attributes]) {
      const again = await subscribe(topic, queue, { Attributes: same });
      expect(again.SubscriptionArn).toBe(first.SubscriptionArn);
    }
    const other = subscribe(topic, queue, { Attributes: { RawMessageDelivery: "false" } });
    expect((await site.refusal(other)).message).toBe(
      "Invalid parameter: Attributes Reason: Subscription already exists with different attributes",
    );
  });

  test("[97] an endpoint must be what its protocol says", async () => {
    const topic = await site.topic("endpoints");
    const message = async (call: Promise<unknown>) => (await site.refusal(call)).message;
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

  test("[98] unsubscribing what is not there is done already; a broken ARN is not", async () => {
    const topic = await site.topic("unsubscribed");
    const unsubscribe = (SubscriptionArn: string) =>
      site.sns.send(new UnsubscribeCommand({ SubscriptionArn }));
    await unsubscribe(`${topic}:${crypto.randomUUID()}`);
    expect((await site.refusal(unsubscribe("broken"))).message).toBe(
      `Invalid parameter: SubscriptionArn Reason: ${SHORT_ARN} 1`,
    );
    const arn = await site.subscribe(topic, `${QUEUE_PREFIX}q`);
    await unsubscribe(arn);
    const read = await site.sns.send(new GetTopicAttributesCommand({ TopicArn: topic }));
    expect(read.Attributes).toMatchObject({
      SubscriptionsConfirmed: "0",
      SubscriptionsDeleted: "1",
    });
  });

  test("[100] attributes of a subscription, with the scope only where there is a filter", async () => {
    const topic = await site.topic("read-back");
    const SubscriptionArn = await site.subscribe(topic, `${QUEUE_PREFIX}q`);
    const read = async () =>
      (await site.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }))).Attributes;
    const set = (AttributeName: string, AttributeValue: string) =>
      site.sns.send(
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
    const nested = await site.refusal(set("FilterPolicyScope", "MessageAttributes"));
    expect(nested.message).toBe(
      "Invalid parameter: Filter policy scope MessageAttributes does not support nested filter " +
        "policy",
    );
    await set("FilterPolicy", "");
    expect(await read()).not.toHaveProperty("FilterPolicy");
  });

  test.each([
    ["Fake", "x", "AttributeName"],
    [
      "RawMessageDelivery",
      "True",
      "RawMessageDelivery: Invalid value [True]. Must be true or false.",
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
  ])("[100][101] %s can not be %j", async (AttributeName, AttributeValue, reason) => {
    const topic = await site.topic("validating");
    const SubscriptionArn = await site.subscribe(topic, `${QUEUE_PREFIX}q`);
    const input = { SubscriptionArn, AttributeName, AttributeValue };
    const refused = await site.refusal(site.sns.send(new SetSubscriptionAttributesCommand(input)));
    expect(refused).toEqual({
      code: "InvalidParameter",
      status: 400,
      message: `Invalid parameter: ${reason}`,
    });
    if (AttributeName === "Fake") return;
    const Attributes = { [AttributeName]: AttributeValue };
    const atOnce = await site.refusal(subscribe(topic, `${QUEUE_PREFIX}other`, { Attributes }));
    expect(atOnce.message).toBe(`Invalid parameter: Attributes Reason: ${reason}`);
  });

  test("[103] a FIFO subscription needs a FIFO dead-letter queue", async () => {
    const topic = await site.topic("fifo-dead.fifo");
    const Attributes = {
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn: `${QUEUE_PREFIX}dead` }),
    };
    const call = subscribe(topic, `${QUEUE_PREFIX}q.fifo`, { Attributes });
    expect((await site.refusal(call)).message).toBe(
      "Invalid parameter: Attributes Reason: RedrivePolicy: must use a FIFO queue as DLQ for a " +
        "FIFO Subscription to a FIFO Topic.",
    );
  });

  test("what does not exist is not found", async () => {
    const SubscriptionArn = `${TOPIC_PREFIX}t:${crypto.randomUUID()}`;
    const get = site.sns.send(new GetSubscriptionAttributesCommand({ SubscriptionArn }));
    const missing = { code: "NotFound", status: 404, message: "Subscription does not exist" };
    expect(await site.refusal(get)).toEqual(missing);
    const confirm = (Token: string) =>
      site.sns.send(new ConfirmSubscriptionCommand({ TopicArn: `${TOPIC_PREFIX}t`, Token }));
    expect((await site.refusal(confirm("x"))).message).toBe("Invalid token");
    expect((await site.refusal(confirm("ab".repeat(144)))).message).toBe(
      "Invalid parameter: Token",
    );
  });

  test("lists come a hundred a page, of one topic or of all", async () => {
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
