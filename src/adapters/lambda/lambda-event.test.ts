import { describe, expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { sqsEvent } from "../../testkit/lambda/sqs-event.ts";
import { readLambdaEvent } from "./lambda-event.ts";

const NOW = epochMs(1_800_000_000_000);
const ARN = "arn:aws:sqs:eu-west-1:123456789012:work.fifo";
const read = (event: unknown) => readLambdaEvent(event, { requestId: "r", now: NOW });

const DELIVERY: Delivery = {
  messageId: "m-1",
  receipt: "receipt-1",
  body: "{}",
  attributes: { colour: "blue" },
  traceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
  groupId: "g",
  dedupId: "d",
  sentAt: epochMs(1_799_999_999_000),
  receiveCount: 3,
  movedFrom: null,
};

test("a batch of a queue becomes its deliveries, with all attributes", () => {
  expect(read(sqsEvent([DELIVERY], ARN))).toEqual({
    kind: "queue",
    arn: ARN,
    deliveries: [DELIVERY],
  });
});

test("binary attributes are omitted, as for any delivery", () => {
  const event = sqsEvent([DELIVERY], ARN) as { Records: { messageAttributes: object }[] };
  const [record] = event.Records;
  Object.assign(record?.messageAttributes ?? {}, {
    bytes: { dataType: "Binary", binaryValue: "AA==", stringValue: "no" },
  });
  expect(read(event).deliveries[0]?.attributes).toEqual({ colour: "blue" });
});

test("a record of S3 becomes a delivery with the body that a queue would deliver (V2)", () => {
  const record = {
    eventSource: "aws:s3",
    eventTime: "2026-11-15T08:00:00.000Z",
    s3: { object: { key: "a+b.csv" } },
  };
  const { kind, deliveries } = read({ Records: [record, record] });
  expect(kind).toBe("direct");
  expect(deliveries.map(({ messageId }) => messageId)).toEqual(["r-0", "r-1"]); // V3
  expect(deliveries[0]).toMatchObject({
    body: JSON.stringify({ Records: [record] }),
    sentAt: Date.UTC(2026, 10, 15, 8),
    receiveCount: 1,
  });
});

test("a record of SNS becomes a delivery with the envelope of SNS (V2)", () => {
  const Sns = { Message: "{}", MessageId: "m", Timestamp: "2026-11-15T08:00:00.000Z" };
  const { deliveries } = read({ Records: [{ EventSource: "aws:sns", Sns }] });
  expect(JSON.parse(deliveries[0]?.body ?? "")).toEqual({ Type: "Notification", ...Sns });
});

describe("an event of an unknown source is rejected in one sentence (V1)", () => {
  test.each([
    [{ key1: "value1" }, 'the event has no Records, but ["key1"]; connect the function to'],
    [null, "the event has no Records, but null"],
    ["text", 'the event has no Records, but "text"'],
    [{ Records: [{ eventSource: "aws:kinesis" }] }, 'records of the unknown source "aws:kinesis"'],
    [
      { Records: [{}, { eventSource: "aws:s3" }] },
      'records of several sources: undefined, "aws:s3"',
    ],
    [{ Records: [null] }, "the event has records without a source; connect"],
    [
      { Records: [{ eventSource: "aws:sqs", eventSourceARN: ARN, messageId: "m" }] },
      "a record of the event has no messageId, receiptHandle or body",
    ],
    [
      { Records: [{ eventSource: "aws:sqs", eventSourceARN: ARN }, { eventSource: "aws:sqs" }] },
      "the event has records of several queues",
    ],
  ])("%j", (event, message) => {
    expect(() => read(event)).toThrow(
      expect.objectContaining({
        code: "TG_VALUE_INVALID",
        message: expect.stringContaining(message),
      }),
    );
  });
});
