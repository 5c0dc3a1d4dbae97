import { describe, expect, test } from "vitest";
import { createWire, MESSAGE_ID, REQUEST_ID } from "../../../../test/support/scripted-broker.ts";
import { type FaultName, refuse } from "../../model/fault.ts";
import { SNS_ERRORS } from "./sns-errors.ts";

const ARN = "arn:aws:sns:us-east-1:000000000000:t";
const Version = "2010-03-31";

describe("requests", () => {
  test("wrapped lists and maps are decoded into the operation's input", async () => {
    const wire = createWire();
    await wire.form({
      Action: "CreateTopic",
      Version,
      Name: "t",
      "Attributes.entry.1.key": "DisplayName",
      "Attributes.entry.1.value": "T",
      "Attributes.entry.2.key": "SignatureVersion",
      "Attributes.entry.2.value": "2",
      "Tags.member.1.Key": "k",
      "Tags.member.1.Value": "v",
    });
    expect(wire.asked).toEqual([
      {
        name: "createTopic",
        input: {
          name: "t",
          attributes: { DisplayName: "T", SignatureVersion: "2" },
          tags: { k: "v" },
        },
      },
    ]);
  });

  test("a publish has its size and the host of the request", async () => {
    const wire = createWire();
    await wire.form({
      Action: "Publish",
      Version,
      TopicArn: ARN,
      Message: "zwölf",
      "MessageAttributes.entry.1.Name": "__proto__",
      "MessageAttributes.entry.1.Value.DataType": "String",
      "MessageAttributes.entry.1.Value.StringValue": "v",
    });
    const { name, input } = wire.asked[0] as { name: string; input: Record<string, unknown> };
    expect(name).toBe("publish");
    expect(input).toMatchObject({ topic: "t", batch: false, origin: "http://localhost:4566" });
    const [entry] = input.entries as { sizeBytes: number; attributes: object }[];
    expect(entry?.sizeBytes).toBe(6 + "__proto__".length + "String".length + 1);
    expect(Object.keys(entry?.attributes ?? {})).toEqual(["__proto__"]);
  });

  test("the entries of a batch are decoded in the order of their numbers", async () => {
    const wire = createWire();
    const at = "PublishBatchRequestEntries.member";
    await wire.form({
      Action: "PublishBatch",
      Version,
      TopicArn: ARN,
      [`${at}.10.Id`]: "b",
      [`${at}.10.Message`]: "second",
      [`${at}.2.Id`]: "a",
      [`${at}.2.Message`]: "first",
    });
    const { entries } = wire.asked[0]!.input as { entries: { body: string }[] };
    expect(entries.map(({ body }) => body)).toEqual(["first", "second"]);
  });

  test("a link works as an unsigned request", async () => {
    const wire = createWire();
    const signature =
      "AWS4-HMAC-SHA256 Credential=any/20260302/us-east-1/sns/aws4_request, Signature=00";
    const token = "ab".repeat(144);
    await wire.get(`/?Action=ConfirmSubscription&TopicArn=${ARN}&Token=${token}`);
    await wire.get(`/?Action=Unsubscribe&SubscriptionArn=${ARN}:id`, { authorization: signature });
    expect(wire.asked).toEqual([
      {
        name: "confirmSubscription",
        input: { token, authenticateOnUnsubscribe: false, authenticated: false },
      },
      { name: "unsubscribe", input: { subscription: "id", authenticated: true } },
    ]);
  });

  test("a page of another site cannot publish", async () => {
    const wire = createWire();
    const headers = { "sec-fetch-site": "cross-site" };
    const reply = await wire.form({ Action: "Publish", TopicArn: ARN, Message: "x" }, { headers });
    expect(reply.status).toBe(403);
    expect(wire.asked).toEqual([]);
  });
});

describe("responses", () => {
  test("lists and maps are wrapped, even if empty", async () => {
    const wire = createWire({
      getTopicAttributes: () => ({ ok: true, value: { attributes: { A: "<1>" } } }),
    });
    const attributes = await wire.form({ Action: "GetTopicAttributes", TopicArn: ARN });
    expect(attributes.text).toContain(
      "<GetTopicAttributesResult><Attributes><entry><key>A</key><value>&lt;1&gt;</value></entry>" +
        "</Attributes></GetTopicAttributesResult>",
    );
    const topics = await wire.form({ Action: "ListTopics" });
    expect(topics.text).toContain("<ListTopicsResult><Topics/></ListTopicsResult>");
    const tagged = await wire.form({ Action: "TagResource", ResourceArn: ARN });
    expect(tagged.text).toContain("<TagResourceResult/>");
  });

  test("a request that accepts JSON gets JSON", async () => {
    const wire = createWire();
    const headers = { accept: "application/json" };
    const reply = await wire.form({ Action: "Publish", TopicArn: ARN, Message: "x" }, { headers });
    expect(reply.value).toEqual({
      PublishResponse: {
        PublishResult: { MessageId: MESSAGE_ID, SequenceNumber: null },
        ResponseMetadata: { RequestId: REQUEST_ID },
      },
    });
  });

  test("the certificate is served under its own id only", async () => {
    const identity = { id: "c0ffee", certificatePem: "PEM", privateKeyPem: "KEY" };
    const wire = createWire({ findSigningIdentity: () => ({ ok: true, value: identity }) });
    const reply = await wire.get("/SimpleNotificationService-c0ffee.pem");
    expect([reply.status, reply.text]).toEqual([200, "PEM"]);
    const other = await wire.get("/SimpleNotificationService-beef.pem");
    expect(other.status).toBe(404);
    expect(other.text).not.toContain("KEY");
  });
});

/** Duplicated on purpose: clients depend on these values, so a change must be deliberate. */
const EXPECTED: Partial<Record<FaultName, readonly [string, number]>> = {
  AuthorizationError: ["AuthorizationError", 403],
  BatchEntryIdsNotDistinct: ["BatchEntryIdsNotDistinct", 400],
  BatchRequestTooLong: ["BatchRequestTooLong", 400],
  EmptyBatchRequest: ["EmptyBatchRequest", 400],
  InternalFailure: ["InternalError", 500],
  InvalidBatchEntryId: ["InvalidBatchEntryId", 400],
  InvalidParameter: ["InvalidParameter", 400],
  InvalidState: ["InvalidState", 400],
  NotFound: ["NotFound", 404],
  ParameterValueInvalid: ["ParameterValueInvalid", 400],
  ResourceNotFound: ["ResourceNotFound", 404],
  ServiceUnavailable: ["ServiceUnavailable", 503],
  TagLimitExceeded: ["TagLimitExceeded", 400],
  Throttled: ["Throttled", 429],
  TooManyEntriesInBatchRequest: ["TooManyEntriesInBatchRequest", 400],
  ValidationError: ["ValidationError", 400],
};

test.each(Object.entries(EXPECTED))("%s is reported as %j", async (name, [code, status]) => {
  const wire = createWire({ listTopics: () => refuse(name as FaultName, "because") });
  const reply = await wire.form({ Action: "ListTopics", Version });
  expect(reply.status).toBe(status);
  expect(reply.text).toContain(`<Code>${code}</Code><Message>because</Message></Error>`);
});

test("a fault of queues only is reported as an internal error", () => {
  for (const name of ["QueueDoesNotExist", "ReceiptHandleIsInvalid", "OverLimit"] as const) {
    expect(SNS_ERRORS[name]).toMatchObject({ code: "InternalError", status: 500 });
  }
});
