// Chain events: what AWS sends for one PutObject through S3, SNS and SQS, field by field, and the
// same setup for every client that runs it.
//   C1. The key has all characters that are encoded differently on the way: spaces, plus signs,
//       letters beyond ASCII, and a slash that is not encoded.

import { expect } from "vitest";
import { REGION } from "./s3-buckets.ts";

export const CHAIN_KEY = "in/a b+c/Größe 1+1.csv"; // C1
export const CHAIN_KEY_ENCODED = "in/a+b%2Bc/Gr%C3%B6%C3%9Fe+1%2B1.csv";
export const CHAIN_BODY = "hello";
export const CHAIN_RULE = "chain";
export const REQUEST_ID = /^[0-9A-Z]{16}$/;
export const HOST_ID = /^[A-Za-z0-9+/=]{40,}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Matches keys below in/, as they are encoded in events. */
export const CHAIN_FILTER = JSON.stringify({
  Records: { s3: { object: { key: [{ prefix: "in/" }] } } },
});

/** The responses that a client got, and the messages it received from both queues. */
export interface ChainRun {
  readonly bucket: string;
  readonly topicArn: string;
  /** From the response to the put, or their format for clients that do not expose them. */
  readonly requestId: string | RegExp;
  readonly hostId: string | RegExp;
  /** Bodies from the queue with raw delivery, and from the one with a filter. */
  readonly raw: readonly string[];
  readonly filtered: readonly string[];
}

/** Compares a run with what AWS sends: a test event, then one event for each object. */
export function checkChain(run: ChainRun): void {
  const [testEvent, event, other, ...more] = run.raw.map((body) => JSON.parse(body));
  expect(testEvent).toEqual({
    Service: "Amazon S3",
    Event: "s3:TestEvent",
    Time: expect.stringMatching(TIME),
    Bucket: run.bucket,
    RequestId: expect.stringMatching(REQUEST_ID),
    HostId: expect.stringMatching(HOST_ID),
  });
  expect(event).toEqual(expectedEvent(run));
  expect(other.Records[0].s3.object.key).toBe("elsewhere");
  expect(more).toEqual([]);
  expect(run.filtered).toHaveLength(1);
  checkNotification(run);
}

const exactly = (pattern: string | RegExp): unknown =>
  typeof pattern === "string" ? pattern : expect.stringMatching(pattern);

function expectedEvent(put: ChainRun): unknown {
  return {
    Records: [
      {
        eventVersion: "2.6",
        eventSource: "aws:s3",
        awsRegion: REGION,
        eventTime: expect.stringMatching(TIME),
        eventName: "ObjectCreated:Put",
        userIdentity: { principalId: expect.stringMatching(/^AWS:AIDA[A-Z2-7]{17}$/) },
        requestParameters: { sourceIPAddress: "127.0.0.1" },
        responseElements: {
          "x-amz-request-id": exactly(put.requestId),
          "x-amz-id-2": exactly(put.hostId),
        },
        s3: {
          s3SchemaVersion: "1.0",
          configurationId: CHAIN_RULE,
          bucket: {
            name: put.bucket,
            ownerIdentity: { principalId: expect.stringMatching(/^A[0-9A-F]{13}$/) },
            arn: `arn:aws:s3:::${put.bucket}`,
          },
          object: {
            key: CHAIN_KEY_ENCODED,
            size: 5,
            eTag: "5d41402abc4b2a76b9719d911017c592",
            sequencer: expect.stringMatching(/^[0-9A-F]{18}$/),
          },
        },
      },
    ],
  };
}

/** Checks the keys of the notification, in order, and their values. */
function checkNotification(run: ChainRun): void {
  const notification = JSON.parse(run.filtered[0] ?? "null");
  expect(Object.keys(notification)).toEqual([
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
  ]);
  expect(notification).toMatchObject({
    Type: "Notification",
    MessageId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    TopicArn: run.topicArn,
    Subject: "Amazon S3 Notification",
    Message: run.raw[1],
    Timestamp: expect.stringMatching(TIME),
    SignatureVersion: "1",
    Signature: expect.stringMatching(/^[A-Za-z0-9+/]{300,}=*$/),
    SigningCertURL: expect.stringMatching(/^http:.+\.pem$/),
    UnsubscribeURL: expect.stringContaining(`SubscriptionArn=${run.topicArn}:`),
  });
}
