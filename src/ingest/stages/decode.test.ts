import { expect, test } from "vitest";
import { buildEnvelope } from "../../core/events/envelope.ts";
import { epochMs } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { pipeline } from "../spec/define-pipeline.ts";
import { decodeDelivery } from "./decode.ts";

const objects = pipeline({
  name: "objects",
  source: { bucket: "in", prefix: "a/" },
  handler: () => undefined,
});
const messages = pipeline({ name: "messages", source: { queue: "q" }, handler: () => undefined });

function delivery(body: string, attributes: Record<string, string> = {}): Delivery {
  return {
    messageId: "m",
    receipt: "r",
    body,
    attributes,
    traceHeader: null,
    groupId: null,
    sentAt: epochMs(5),
    receiveCount: 1,
    movedFrom: null,
  };
}

function record(bucket: string, key: string, sequencer = "0A") {
  return {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    eventTime: "2026-01-01T00:00:00.000Z",
    eventName: "ObjectCreated:Put",
    s3: { bucket: { name: bucket }, object: { key, size: 1, eTag: "e", sequencer } },
  };
}

test("each record of a notification is work of its own, with a key of its own", () => {
  const body = JSON.stringify({ Records: [record("in", "a/1"), record("in", "a/2")] });
  const { records, ignored } = decodeDelivery(objects, delivery(body));
  expect(records.map(({ object }) => object?.key)).toEqual(["a/1", "a/2"]);
  expect(new Set(records.map(({ key }) => key)).size).toBe(2);
  expect(ignored).toEqual([]);
});

test("objects outside bucket and prefix are left to others and said to be so (D3)", () => {
  const body = JSON.stringify({ Records: [record("in", "b/1"), record("out", "a/1")] });
  const { records, ignored } = decodeDelivery(objects, delivery(body));
  expect(records).toEqual([]);
  expect(ignored).toEqual(["elsewhere", "elsewhere"]);
});

test("a broken record does not take its neighbours along, and is not lost (D1)", () => {
  const broken = { ...record("in", "a/2"), eventTime: "yesterday" };
  const body = JSON.stringify({ Records: [record("in", "a/1"), broken] });
  const { records } = decodeDelivery(objects, delivery(body));
  expect(records.map(({ content }) => content.kind)).toEqual(["object", "unusable"]);
});

test("two bodies without a key never share one (D2)", () => {
  const [one] = decodeDelivery(messages, delivery("no json")).records;
  const [two] = decodeDelivery(messages, delivery("no json either")).records;
  expect(one?.content.kind).toBe("unusable");
  expect(one?.key).not.toBe(two?.key);
});

test("the key comes from the body, whatever the attributes say (D2)", () => {
  const input = { source: "a.b.c", dedupeKey: "k", eventTime: epochMs(1), payload: {} };
  const built = buildEnvelope(input);
  const body = built.kind === "valid" ? built.value.body : "";
  const [one] = decodeDelivery(messages, delivery(body, { idempotencyKey: "x" })).records;
  const [two] = decodeDelivery(messages, delivery(body)).records;
  expect(one?.key).toBe(two?.key);
});

test("a kind of message that the pipeline does not take is dead-lettered, not dropped", () => {
  const body = JSON.stringify({ Records: [record("in", "a/1")] });
  const [odd] = decodeDelivery(messages, delivery(body)).records;
  expect(odd?.content).toMatchObject({ kind: "unusable" });
});

test("S3's test event is acknowledged without a trace in the ledger", () => {
  const body = JSON.stringify({
    Service: "Amazon S3",
    Event: "s3:TestEvent",
    Time: "2026-01-01T00:00:00.000Z",
    Bucket: "in",
    RequestId: "x",
    HostId: "y",
  });
  expect(decodeDelivery(objects, delivery(body))).toMatchObject({
    records: [],
    ignored: ["test-event"],
  });
});
