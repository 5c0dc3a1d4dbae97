import { expect, test } from "vitest";
import { ACCOUNT, createSdkClient, useEndpoint } from "../../support/endpoint.ts";

const endpoint = useEndpoint();

const pathOf = (queueUrl: string) => new URL(queueUrl).pathname;

test("[1] a JSON call is a POST to / that names its action in X-Amz-Target", async () => {
  const name = endpoint.freshName();
  const answer = await endpoint.json(
    "CreateQueue",
    { QueueName: name },
    { headers: { "x-amzn-query-mode": "true" } },
  );
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.body)).toEqual({ QueueUrl: `${endpoint.url}/${ACCOUNT}/${name}` });
});

test("[2] a JSON call to a queue's path gets a JSON response", async () => {
  const QueueUrl = await endpoint.queue();
  const options = { path: pathOf(QueueUrl) };
  const sent = await endpoint.json("SendMessage", { QueueUrl, MessageBody: "hi" }, options);
  expect(sent.headers.get("content-type")).toBe("application/x-amz-json-1.0");
  expect(JSON.parse(sent.body)).toMatchObject({ MD5OfMessageBody: expect.any(String) });
});

test("[3] responses have a request id and a content type, and no checksum header", async () => {
  const good = await endpoint.json("ListQueues", {});
  const bad = await endpoint.json("GetQueueUrl", { QueueName: "nowhere" });
  for (const { headers } of [good, bad]) {
    expect(headers.get("x-amzn-requestid")).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get("content-type")).toBe("application/x-amz-json-1.0");
    expect(headers.has("x-amz-crc32")).toBe(false);
  }
  expect(good.headers.get("x-amzn-requestid")).not.toBe(bad.headers.get("x-amzn-requestid"));
  const { $metadata } = await endpoint.sqs.listQueues();
  expect($metadata.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

test("[4] an action without output returns an empty body", async () => {
  const QueueUrl = await endpoint.queue();
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "x" });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  const { ReceiptHandle } = Messages![0]!;
  const calls: [string, object][] = [
    ["ChangeMessageVisibility", { ReceiptHandle, VisibilityTimeout: 5 }],
    ["DeleteMessage", { ReceiptHandle }],
    ["SetQueueAttributes", { Attributes: { DelaySeconds: "1" } }],
    ["TagQueue", { Tags: { a: "b" } }],
    ["UntagQueue", { TagKeys: ["a"] }],
    ["AddPermission", { Label: "l", AWSAccountIds: [ACCOUNT], Actions: ["SendMessage"] }],
    ["RemovePermission", { Label: "l" }],
    ["PurgeQueue", {}],
    ["DeleteQueue", {}],
  ];
  for (const [action, input] of calls) {
    const { status, body } = await endpoint.json(action, { QueueUrl, ...input });
    expect([action, status, body]).toEqual([action, 200, ""]);
  }
});

test("[4] empty output is an empty object, without empty lists", async () => {
  const QueueUrl = await endpoint.queue();
  for (const action of ["ReceiveMessage", "ListQueueTags", "GetQueueAttributes"]) {
    const { status, body } = await endpoint.json(action, { QueueUrl });
    expect([action, status, body]).toEqual([action, 200, "{}"]);
  }
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  expect(Messages).toBeUndefined();
});

/** A GET that changes something has to be signed, as on AWS. */
const SIGNED = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=any/20260302/us-east-1/sqs/aws4_request, Signature=00",
};

test("[12] a queue's URL accepts queue actions by GET", async () => {
  const queueUrl = await endpoint.queue();
  const other = await endpoint.queue();
  const get = (parameters: Record<string, string>) =>
    endpoint.query(parameters, { path: pathOf(queueUrl), method: "GET", headers: SIGNED });
  const sent = await get({ Action: "SendMessage", MessageBody: "by GET" });
  expect([sent.status, sent.body]).toEqual([200, expect.stringContaining("<SendMessageResponse")]);
  expect((await get({ Action: "ReceiveMessage" })).body).toContain("<Body>by GET</Body>");
  const reply = await get({ Action: "GetQueueUrl", QueueName: other.split("/").at(-1)! });
  expect(reply.body).toContain(`<QueueUrl>${other}</QueueUrl>`);
  await get({ Action: "SendMessage", MessageBody: "elsewhere", QueueUrl: other });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl: other });
  expect(Messages).toMatchObject([{ Body: "elsewhere" }]);
});

test.each(["CreateQueue", "ListQueues", "FooBar"])(
  "[12] a queue's URL refuses %s, which is not a queue action",
  async (Action) => {
    const path = pathOf(await endpoint.queue());
    const parameters = { Action, QueueName: "x" };
    const { status, body } = await endpoint.query(parameters, { path, method: "GET" });
    expect(status).toBe(400);
    expect(body).toContain("<Code>InvalidAction</Code>");
    expect(body).toContain(`The action ${Action} is not valid for this endpoint.`);
  },
);

test("[12] a queue's URL without an action is 404, in XML even if the request accepts JSON", async () => {
  const path = pathOf(await endpoint.queue());
  const headers = { accept: "application/json" };
  const { status, body } = await endpoint.query({}, { path, method: "GET", headers });
  expect([status, body]).toEqual([404, expect.stringContaining("<UnknownOperationException/>")]);
});

test("[13] the query protocol answers in its own JSON format if the request accepts JSON", async () => {
  const queueUrl = await endpoint.queue();
  const options = { method: "GET", headers: { ...SIGNED, accept: "application/json" } } as const;
  const listed = await endpoint.query({ Action: "ListQueues" }, options);
  expect(JSON.parse(listed.body).ListQueuesResponse.ListQueuesResult.queueUrls).toContain(queueUrl);
  await endpoint.sqs.sendMessage({ QueueUrl: queueUrl, MessageBody: "<&>" });
  const onQueue = { ...options, path: pathOf(queueUrl) };
  const received = await endpoint.query({ Action: "ReceiveMessage" }, onQueue);
  const { ReceiveMessageResponse } = JSON.parse(received.body);
  expect(ReceiveMessageResponse.ReceiveMessageResult.messages).toMatchObject([{ Body: "<&>" }]);
  expect(ReceiveMessageResponse.ResponseMetadata.RequestId).toMatch(/^[0-9a-f-]{36}$/);
});

test("[14] the query protocol flattens attributes, tags and lists of names", async () => {
  const name = endpoint.freshName();
  const created = await endpoint.query({
    Action: "CreateQueue",
    QueueName: name,
    "Attribute.1.Name": "DelaySeconds",
    "Attribute.1.Value": "7",
    "Attribute.2.Name": "VisibilityTimeout",
    "Attribute.2.Value": "8",
    "Tag.1.Key": "colour",
    "Tag.1.Value": "blue",
  });
  const QueueUrl = `${endpoint.url}/${ACCOUNT}/${name}`;
  expect(created.headers.get("content-type")).toBe("text/xml");
  expect(created.body).toContain(`<CreateQueueResult><QueueUrl>${QueueUrl}</QueueUrl>`);
  const read = await endpoint.query({
    Action: "GetQueueAttributes",
    QueueUrl,
    "AttributeName.1": "DelaySeconds",
    "AttributeName.2": "VisibilityTimeout",
  });
  expect(read.body).toContain(
    "<GetQueueAttributesResult>" +
      "<Attribute><Name>DelaySeconds</Name><Value>7</Value></Attribute>" +
      "<Attribute><Name>VisibilityTimeout</Name><Value>8</Value></Attribute>" +
      "</GetQueueAttributesResult>",
  );
  const tags = await endpoint.query({ Action: "ListQueueTags", QueueUrl });
  expect(tags.body).toContain("<Tag><Key>colour</Key><Value>blue</Value></Tag>");
});

test("[14] the query protocol flattens batches and their message attributes", async () => {
  const QueueUrl = await endpoint.queue();
  const entry = "SendMessageBatchRequestEntry.1";
  const sent = await endpoint.query({
    Action: "SendMessageBatch",
    QueueUrl,
    [`${entry}.Id`]: "one",
    [`${entry}.MessageBody`]: "body",
    [`${entry}.MessageAttribute.1.Name`]: "colour",
    [`${entry}.MessageAttribute.1.Value.StringValue`]: "blue",
    [`${entry}.MessageAttribute.1.Value.DataType`]: "String",
    [`${entry}.MessageAttribute.2.Name`]: "blob",
    [`${entry}.MessageAttribute.2.Value.BinaryValue`]: "AQID",
    [`${entry}.MessageAttribute.2.Value.DataType`]: "Binary",
  });
  expect(sent.body).toContain("<SendMessageBatchResultEntry><Id>one</Id>");
  const receive = { Action: "ReceiveMessage", QueueUrl, "MessageAttributeName.1": "All" };
  const received = await endpoint.query(receive);
  expect(received.body).toContain(
    "<MessageAttribute><Name>colour</Name><Value><StringValue>blue</StringValue>" +
      "<DataType>String</DataType></Value></MessageAttribute>",
  );
  expect(received.body).toContain("<Value><BinaryValue>AQID</BinaryValue>");
  expect((await endpoint.query(receive)).body).toContain("<ReceiveMessageResult/>");
});

test("[15] a carriage return is preserved in both protocols", async () => {
  const QueueUrl = await endpoint.queue({ VisibilityTimeout: "0" });
  const body = "a\rb\r\nc\n\td";
  await endpoint.query({ Action: "SendMessage", QueueUrl, MessageBody: body });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl });
  expect(Messages![0]!.Body).toBe(body);
  const xml = await endpoint.query({ Action: "ReceiveMessage", QueueUrl });
  expect(xml.body).toContain("<Body>a&#xD;b&#xD;\nc\n\td</Body>");
});

test("[16] the bare name of a queue is accepted as its URL", async () => {
  const url = await endpoint.queue();
  const QueueUrl = url.split("/").at(-1)!;
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "by name" });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl: url });
  expect(Messages).toMatchObject([{ Body: "by name" }]);
});

test("[17] queue URLs have the caller's host, and only their path is read", async () => {
  const port = endpoint.cloud.port;
  const elsewhere = createSdkClient(`http://localhost:${port}`);
  const name = endpoint.freshName();
  const { QueueUrl } = await elsewhere.createQueue({ QueueName: name });
  expect(QueueUrl).toBe(`http://localhost:${port}/${ACCOUNT}/${name}`);
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody: "one queue, two hosts" });
  const byContainer = `http://tidegate:4566/${ACCOUNT}/${name}`;
  const { Messages } = await elsewhere.receiveMessage({ QueueUrl: byContainer });
  expect(Messages).toMatchObject([{ Body: "one queue, two hosts" }]);
  elsewhere.destroy();
});

test("[17] the SDK accepts the checksums of sent and received messages", async () => {
  const QueueUrl = await endpoint.queue();
  const MessageBody = "sums over ünïcødé, 日本 and 🌊";
  await endpoint.sqs.sendMessage({ QueueUrl, MessageBody });
  const Entries = [{ Id: "a", MessageBody }];
  await endpoint.sqs.sendMessageBatch({ QueueUrl, Entries });
  const { Messages } = await endpoint.sqs.receiveMessage({ QueueUrl, MaxNumberOfMessages: 10 });
  expect(Messages!.map(({ Body }) => Body)).toEqual([MessageBody, MessageBody]);
});
