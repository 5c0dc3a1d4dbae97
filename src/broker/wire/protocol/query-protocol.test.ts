import { describe, expect, test } from "vitest";
import {
  ACCOUNT,
  createWire,
  delivery,
  MESSAGE_ID,
  REQUEST_ID,
} from "../../../../test/support/scripted-broker.ts";
import { succeed } from "../../../core/result.ts";
import { refuse } from "../../model/fault.ts";
import { SNS_ACTIONS } from "../sns/sns-actions.ts";
import { SQS_ACTIONS } from "../sqs/sqs-actions.ts";
import { PARAMETERS_MAX } from "./query-input.ts";

const SIGNED = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=any/20260302/us-east-1/sqs/aws4_request, Signature=00",
};
const NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/";
const METADATA = `<ResponseMetadata><RequestId>${REQUEST_ID}</RequestId></ResponseMetadata>`;

describe("parameters", () => {
  test("become lists, maps and structures by their numbers, which need not begin at 1", async () => {
    const wire = createWire();
    await wire.form({
      Action: "SendMessageBatch",
      QueueUrl: "q",
      "SendMessageBatchRequestEntry.10.Id": "last",
      "SendMessageBatchRequestEntry.10.MessageBody": "b + c & d",
      "SendMessageBatchRequestEntry.2.Id": "first",
      "SendMessageBatchRequestEntry.2.MessageBody": "a",
      "SendMessageBatchRequestEntry.2.DelaySeconds": "5",
      "SendMessageBatchRequestEntry.2.MessageAttribute.1.Name": "My.Name",
      "SendMessageBatchRequestEntry.2.MessageAttribute.1.Value.StringValue": "7",
      "SendMessageBatchRequestEntry.2.MessageAttribute.1.Value.DataType": "Number",
      "SendMessageBatchRequestEntry.2.MessageAttribute.2.Name": "bytes",
      "SendMessageBatchRequestEntry.2.MessageAttribute.2.Value.BinaryValue": "AQID",
      "SendMessageBatchRequestEntry.2.MessageAttribute.2.Value.DataType": "Binary",
    });
    expect(wire.asked[0]?.input).toMatchObject({
      queue: "q",
      batch: true,
      entries: [
        {
          body: "a",
          delayMs: 5_000,
          attributes: {
            "My.Name": { type: "Number", value: "7" },
            bytes: { type: "Binary", value: "AQID" },
          },
        },
        { body: "b + c & d", delayMs: null, attributes: null },
      ],
    });
  });

  test.each<[string, Record<string, string>, unknown]>([
    [
      "CreateQueue",
      {
        QueueName: "q",
        "Attribute.1.Name": "DelaySeconds",
        "Attribute.1.Value": "3",
        "Tag.1.Key": "a",
        "Tag.1.Value": "",
      },
      { name: "q", attributes: { DelaySeconds: "3" }, tags: { a: "" } },
    ],
    [
      "GetQueueAttributes",
      { QueueUrl: "q", "AttributeName.1": "All", "AttributeName.2": "QueueArn" },
      { queue: "q", names: ["All", "QueueArn"] },
    ],
    ["GetQueueAttributes", { QueueUrl: "q", AttributeName: "All" }, { queue: "q", names: ["All"] }],
    ["UntagQueue", { QueueUrl: "q", "TagKey.1": "a" }, { queue: "q", keys: ["a"] }],
    [
      "TagQueue",
      { QueueUrl: "q", "Tag.1.Key": "__proto__", "Tag.1.Value": "x" },
      { queue: "q", tags: JSON.parse('{"__proto__":"x"}') },
    ],
    [
      "AddPermission",
      {
        QueueUrl: "q",
        Label: "l",
        "AWSAccountId.1": "111111111111",
        "ActionName.1": "SendMessage",
      },
      { queue: "q", label: "l", accounts: ["111111111111"], actions: ["SendMessage"] },
    ],
    [
      "DeleteMessageBatch",
      {
        QueueUrl: "q",
        "DeleteMessageBatchRequestEntry.1.Id": "a",
        "DeleteMessageBatchRequestEntry.1.ReceiptHandle": "h",
      },
      { queue: "q", handles: ["h"] },
    ],
    [
      "ChangeMessageVisibilityBatch",
      {
        QueueUrl: "q",
        "ChangeMessageVisibilityBatchRequestEntry.1.Id": "a",
        "ChangeMessageVisibilityBatchRequestEntry.1.ReceiptHandle": "h",
        "ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout": "9",
      },
      { queue: "q", entries: [{ handle: "h", visibilityMs: 9_000 }] },
    ],
  ])("of %s have AWS's names", async (Action, parameters, input) => {
    const wire = createWire();
    const reply = await wire.form({ Action, ...parameters });
    expect(reply.status).toBe(200);
    expect(JSON.stringify(wire.asked[0]?.input)).toBe(JSON.stringify(input));
  });

  test("in the body of a POST are merged with those in its URL", async () => {
    const wire = createWire();
    await wire.form({ MessageBody: "x" }, { query: "Action=SendMessage&QueueUrl=q&MessageBody=y" });
    expect(wire.asked[0]?.input).toMatchObject({ queue: "q", entries: [{ body: "x" }] });
  });

  test.each([
    [
      "an invalid number",
      "Action=ReceiveMessage&QueueUrl=q&WaitTimeSeconds=x",
      "InvalidParameterValue",
    ],
    ["a broken escape", "Action=ListQueues&QueueNamePrefix=%zz", "MalformedInput"],
    ["an escape that is not UTF-8", "Action=ListQueues&QueueNamePrefix=%ff", "MalformedInput"],
    ["a map entry without a name", "Action=TagQueue&QueueUrl=q&Tag.1.Value=x", "MissingParameter"],
    ["a map entry without a value", "Action=TagQueue&QueueUrl=q&Tag.1.Key=x", "MissingParameter"],
    ["too many parameters", `Action=ListQueues${"&a=b".repeat(PARAMETERS_MAX)}`, "MalformedInput"],
    [
      "a name that is nested too deeply",
      `Action=ListQueues&${"a.".repeat(20)}a=b`,
      "MalformedInput",
    ],
  ])("are refused if they have %s", async (_, query, code) => {
    const wire = createWire();
    const reply = await wire.get(`/?${query}`, SIGNED);
    expect(reply.status).toBe(400);
    expect(reply.text).toContain(`<Code>${code}</Code>`);
    expect(wire.asked).toEqual([]);
  });
});

describe("an XML response", () => {
  test("wraps the result and includes the request id", async () => {
    const reply = await createWire().form({
      Action: "SendMessage",
      QueueUrl: "q",
      MessageBody: "a",
    });
    expect(reply.headers).toEqual({ "x-amzn-requestid": REQUEST_ID, "content-type": "text/xml" });
    expect(reply.text).toBe(
      `<?xml version="1.0"?><SendMessageResponse xmlns="${NAMESPACE}"><SendMessageResult>` +
        "<MD5OfMessageBody>0cc175b9c0f1b6a831c399e269772661</MD5OfMessageBody>" +
        `<MessageId>${MESSAGE_ID}</MessageId></SendMessageResult>${METADATA}</SendMessageResponse>`,
    );
  });

  test("has no result element without output, and an empty one for empty output", async () => {
    const wire = createWire();
    expect((await wire.form({ Action: "DeleteQueue", QueueUrl: "q" })).text).toContain(
      `<DeleteQueueResponse xmlns="${NAMESPACE}">${METADATA}</DeleteQueueResponse>`,
    );
    expect((await wire.form({ Action: "ReceiveMessage", QueueUrl: "q" })).text).toContain(
      `<ReceiveMessageResult/>${METADATA}`,
    );
  });

  test("preserves a body, including carriage returns and markup", async () => {
    const wire = createWire({
      receive: () => succeed({ deliveries: [delivery({ body: 'a\r\n<b>&"' })] }),
    });
    const reply = await wire.form({ Action: "ReceiveMessage", QueueUrl: "q" });
    expect(reply.text).toContain("<Body>a&#xD;\n&lt;b&gt;&amp;&quot;</Body>");
  });

  test("flattens lists and maps", async () => {
    const wire = createWire({
      receive: () =>
        succeed({
          deliveries: [delivery({ attributes: { color: { type: "String", value: "blue" } } })],
        }),
      listQueues: () => succeed({ names: ["a", "b"], nextToken: "t" }),
    });
    const received = await wire.form({
      Action: "ReceiveMessage",
      QueueUrl: "q",
      "AttributeName.1": "SentTimestamp",
      "MessageAttributeName.1": "All",
    });
    expect(received.text).toContain(
      "<Attribute><Name>SentTimestamp</Name><Value>1000</Value></Attribute>" +
        "<MD5OfMessageAttributes>da1b33cc3cbfe8b1630921e78e6b9880</MD5OfMessageAttributes>" +
        "<MessageAttribute><Name>color</Name><Value><StringValue>blue</StringValue>" +
        "<DataType>String</DataType></Value></MessageAttribute></Message>",
    );
    const listed = await wire.form({ Action: "ListQueues" });
    expect(listed.text).toContain(
      `<ListQueuesResult><QueueUrl>http://localhost:4566/${ACCOUNT}/a</QueueUrl>` +
        `<QueueUrl>http://localhost:4566/${ACCOUNT}/b</QueueUrl><NextToken>t</NextToken>`,
    );
  });

  test("uses the query protocol's own message for a missing queue", async () => {
    const wire = createWire({
      purgeQueue: () => refuse("QueueDoesNotExist", "The specified queue does not exist."),
    });
    expect((await wire.form({ Action: "PurgeQueue", QueueUrl: "q" })).text).toContain(
      "<Code>AWS.SimpleQueueService.NonExistentQueue</Code>" +
        "<Message>The specified queue does not exist for this wsdl version.</Message><Detail/>",
    );
  });

  test("never contains a character that XML does not allow", async () => {
    const reply = await createWire().get("/?Action=%00%1f%ef%bf%be%3c");
    expect(reply.text).toContain("<Message>The action \uFFFD\uFFFD\uFFFD&lt; is not valid");
  });
});

describe("a GET that changes something", () => {
  const changing = [...SQS_ACTIONS, ...SNS_ACTIONS]
    .map(({ name }) => name)
    .filter((name) => !/^(Get|List)/.test(name));
  const presigned =
    "&X-Amz-Credential=any%2F20260302%2Fus-east-1%2Fsqs%2Faws4_request&X-Amz-Signature=00";

  test.each(changing.filter((name) => name !== "ConfirmSubscription" && name !== "Unsubscribe"))(
    "is refused without a signature: %s (Y4)",
    async (name) => {
      const wire = createWire();
      const reply = await wire.get(`/?Action=${name}&QueueUrl=q`);
      expect([reply.status, wire.asked]).toEqual([403, []]);
      expect(reply.text).toContain(`${name} changes something, so it needs a POST`);
    },
  );

  test("is answered with a signature header, under any name", async () => {
    for (const host of ["localhost:4566", "tidegate:4566", "sqs.us-east-1.amazonaws.com"]) {
      const reply = await createWire().get("/?Action=PurgeQueue&QueueUrl=q", { ...SIGNED, host });
      expect([host, reply.status]).toEqual([host, 200]);
    }
  });

  test("is answered presigned only where browsers say which site sent it", async () => {
    const statusFor = async (host: string) =>
      (await createWire().get(`/?Action=PurgeQueue&QueueUrl=q${presigned}`, { host })).status;
    expect(await statusFor("127.0.0.1:4566")).toBe(200);
    expect(await statusFor("q.localhost")).toBe(200);
    expect(await statusFor("tidegate:4566")).toBe(403);
    expect(await statusFor("sqs.us-east-1.amazonaws.com")).toBe(403);
  });
});

describe("GET on the URL of a queue", () => {
  const path = `/${ACCOUNT}/mine`;

  test("runs queue actions on the queue in the path", async () => {
    const wire = createWire();
    const reply = await wire.get(`${path}?Action=SendMessage&MessageBody=a+b`, SIGNED);
    expect(reply.status).toBe(200);
    expect(wire.asked[0]?.input).toMatchObject({ queue: "mine", entries: [{ body: "a b" }] });
  });

  test.each(["CreateQueue", "ListQueues", "FooBar", "StartMessageMoveTask"])(
    "refuses %s, which is not an action on this queue",
    async (name) => {
      const reply = await createWire().get(`${path}?Action=${name}&QueueName=x`);
      expect(reply.status).toBe(400);
      expect(reply.text).toContain(
        `<Code>InvalidAction</Code><Message>The action ${name} is not valid for this endpoint.`,
      );
    },
  );

  test("returns the URL of another queue, and prefers QueueUrl to the path", async () => {
    const wire = createWire();
    expect((await wire.get(`${path}?Action=GetQueueUrl&QueueName=other`)).text).toContain(
      `<QueueUrl>http://localhost:4566/${ACCOUNT}/other</QueueUrl>`,
    );
    const yours = `http%3A%2F%2Fh%2F${ACCOUNT}%2Fyours`;
    await wire.get(`${path}?Action=PurgeQueue&QueueUrl=${yours}`, SIGNED);
    expect(wire.asked[1]).toEqual({ name: "purgeQueue", input: { queue: "yours" } });
  });

  test.each([{}, { accept: "application/json" }])(
    "without an action is an unknown operation in XML, with any Accept header (%o)",
    async (headers: Record<string, string>) => {
      const reply = await createWire().get(path, headers);
      expect(reply.status).toBe(404);
      expect(reply.text).toContain("<UnknownOperationException/>");
    },
  );

  test("names a missing parameter", async () => {
    const reply = await createWire().get(`${path}?Action=SendMessage`, SIGNED);
    expect(reply.text).toContain(
      "<Code>MissingParameter</Code>" +
        "<Message>The request must contain the parameter MessageBody.</Message>",
    );
  });
});

describe("a query request that accepts JSON", () => {
  const headers = { accept: "application/json" };

  test("gets the response as JSON, with null for absent fields", async () => {
    const wire = createWire({ listQueues: () => succeed({ names: ["a"], nextToken: null }) });
    const reply = await wire.get("/?Action=ListQueues", headers);
    expect(reply.headers["content-type"]).toBe("application/json");
    expect(reply.value).toEqual({
      ListQueuesResponse: {
        ListQueuesResult: {
          queueUrls: [`http://localhost:4566/${ACCOUNT}/a`],
          NextToken: null,
        },
        ResponseMetadata: { RequestId: REQUEST_ID },
      },
    });
  });

  test("gets received messages in the field `messages`", async () => {
    const wire = createWire({
      receive: () => succeed({ deliveries: [delivery({ body: "a\rb" })] }),
    });
    const signed = { ...headers, ...SIGNED };
    const reply = await wire.get("/?Action=ReceiveMessage&QueueUrl=q", signed);
    expect(reply.value.ReceiveMessageResponse.ReceiveMessageResult.messages).toEqual([
      {
        MessageId: MESSAGE_ID,
        ReceiptHandle: "handle",
        MD5OfBody: expect.stringMatching(/^[0-9a-f]{32}$/),
        Body: "a\rb",
        Attributes: null,
        MD5OfMessageAttributes: null,
        MessageAttributes: null,
      },
    ]);
  });

  test("gets attributes as a list of pairs, and faults as JSON", async () => {
    const wire = createWire({
      getQueueAttributes: () => succeed({ attributes: { QueueArn: "arn" } }),
    });
    const reply = await wire.get("/?Action=GetQueueAttributes&QueueUrl=q", headers);
    expect(reply.value.GetQueueAttributesResponse.GetQueueAttributesResult).toEqual({
      Attributes: [{ Name: "QueueArn", Value: "arn" }],
    });
    const fault = await wire.get(`/${ACCOUNT}/q?Action=ListQueues`, headers);
    expect(fault.status).toBe(400);
    expect(fault.value.Error).toEqual({
      Code: "InvalidAction",
      Detail: null,
      Message: "The action ListQueues is not valid for this endpoint.",
      Type: "Sender",
    });
  });
});

describe("a web page", () => {
  test.each(["cross-site", "same-site"])(
    "of another origin (%s) cannot call",
    async (fetchSite) => {
      const wire = createWire();
      const reply = await wire.get("/?Action=ListQueues", { "sec-fetch-site": fetchSite });
      expect(reply.status).toBe(403);
      expect(wire.asked).toEqual([]);
    },
  );

  test("that the user opened directly may call", async () => {
    const reply = await createWire().get("/?Action=ListQueues", { "sec-fetch-site": "none" });
    expect(reply.status).toBe(200);
  });
});
