import fc from "fast-check";
import { expect, test } from "vitest";
import { utf8ByteLength } from "../../../core/encoding/text.ts";
import {
  fillSignature,
  type NotificationFields,
  shareNotification,
  textToSign,
  writeConfirmation,
} from "./notification.ts";
import { SharedTexts } from "./shared-texts.ts";

const FIELDS: NotificationFields = {
  messageId: "id",
  sequenceNumber: null,
  topicArn: "arn",
  subject: null,
  message: "hello",
  timestamp: "2026-11-15T00:00:00.000Z",
  signature: { version: "1", certificateUrl: "http://host/cert.pem" },
  unsubscribeUrl: "http://host/?Action=Unsubscribe",
  attributes: null,
  replayed: false,
};

const writeNotification = (fields: NotificationFields) =>
  shareNotification(fields, new SharedTexts()).text;

test("the notification equals the one of AWS byte for byte", () => {
  const attributes = { a: { type: "String", value: "x" }, b: { type: "Binary", value: "AQ==" } };
  expect(writeNotification({ ...FIELDS, subject: 'S "1"', attributes })).toBe(`{
  "Type" : "Notification",
  "MessageId" : "id",
  "TopicArn" : "arn",
  "Subject" : "S \\"1\\"",
  "Message" : "hello",
  "Timestamp" : "2026-11-15T00:00:00.000Z",
  "SignatureVersion" : "1",
  "Signature" : "",
  "SigningCertURL" : "http://host/cert.pem",
  "UnsubscribeURL" : "http://host/?Action=Unsubscribe",
  "MessageAttributes" : {
    "a" : {"Type":"String","Value":"x"},
    "b" : {"Type":"Binary","Value":"AQ=="}
  }
}`);
});

test("a short and a long message are written alike, and their size is that of the text (N5)", () => {
  for (const units of [0, 2_048, 2_049, 100_000]) {
    const message = "\u00e9".repeat(units);
    for (const attributes of [null, { a: { type: "String", value: "\u00e9" } }]) {
      const { text, bytes } = shareNotification(
        { ...FIELDS, message, attributes },
        new SharedTexts(),
      );
      const short = writeNotification({ ...FIELDS, attributes });
      expect(text).toBe(short.replace('"hello"', `"${message}"`));
      expect(bytes).toBe(utf8ByteLength(text));
    }
  }
});

test("a FIFO topic's notification has a sequence number and no signature fields", () => {
  const text = writeNotification({ ...FIELDS, sequenceNumber: "1", signature: null });
  expect(Object.keys(JSON.parse(text))).toEqual([
    "Type",
    "MessageId",
    "SequenceNumber",
    "TopicArn",
    "Message",
    "Timestamp",
    "UnsubscribeURL",
  ]);
});

test("the signature covers the lines that AWS documents", () => {
  expect(textToSign(writeNotification({ ...FIELDS, subject: "S" }))).toBe(
    "Message\nhello\nMessageId\nid\nSubject\nS\nTimestamp\n2026-11-15T00:00:00.000Z\n" +
      "TopicArn\narn\nType\nNotification\n",
  );
  const confirmation = writeConfirmation({
    messageId: "id",
    token: "tok",
    topicArn: "arn",
    timestamp: "now",
    subscribeUrl: "url",
    signature: null,
  });
  expect(textToSign(confirmation)).toBe(
    "Message\nYou have chosen to subscribe to the topic arn.\nTo confirm the subscription, visit " +
      "the SubscribeURL included in this message.\nMessageId\nid\nSubscribeURL\nurl\n" +
      "Timestamp\nnow\nToken\ntok\nTopicArn\narn\nType\nSubscriptionConfirmation\n",
  );
});

test("the signature is inserted into its own field, whatever the message contains", () => {
  const nasty = fc.oneof(
    fc.string(),
    fc.constant('\n  "Signature" : ""'),
    fc.constant('"Signature" : ""'),
  );
  fc.assert(
    fc.property(nasty, nasty, (message, subject) => {
      const body = writeNotification({ ...FIELDS, message, subject });
      const signed = JSON.parse(fillSignature(body, "c2ln")) as Record<string, unknown>;
      const before = JSON.parse(body) as Record<string, unknown>;
      expect(signed).toEqual({ ...before, Signature: "c2ln" });
      expect(textToSign(fillSignature(body, "c2ln"))).toBe(textToSign(body));
    }),
  );
});
