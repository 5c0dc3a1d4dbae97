// Messages as AWS sends them, for the trap tests.

import { type Decoded, decodeBody } from "../../../src/core/events/decode/decode.ts";
import type { ObjectEvent } from "../../../src/core/events/object-event.ts";

export interface DecodedBody {
  readonly eventName?: string;
  readonly key?: string;
  readonly eTag?: string;
  readonly size?: number;
  readonly versionId?: string;
  readonly sequencer?: string;
  readonly requestId?: string;
}

/** An S3 notification of one record; `key` is already encoded. */
export function notificationOf({ eventName, requestId, ...object }: DecodedBody): string {
  const record = {
    eventVersion: "2.6",
    eventSource: "aws:s3",
    eventTime: "2026-11-15T08:00:00.123Z",
    eventName: eventName ?? "ObjectCreated:Put",
    responseElements: { "x-amz-request-id": requestId ?? "REQUEST0" },
    s3: { bucket: { name: "kfm-ingest" }, object: { key: "orders/1.csv", ...object } },
  };
  return JSON.stringify({ Records: [record] });
}

/** A message as a subscription without raw delivery wraps it. */
export function snsWrapped(message: string, attributes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    Type: "Notification",
    MessageId: "0f7b2c1e-3f5a-5d0c-9a70-6f8d2f6f0001",
    TopicArn: "arn:aws:sns:eu-central-1:123456789012:ingest",
    Message: message,
    Timestamp: "2026-11-15T08:00:00.456Z",
    MessageAttributes: attributes,
  });
}

/** The one event of a body; fails the test if there is none. */
export function eventOf(body: string): ObjectEvent {
  const decoded: Decoded = decodeBody(body);
  const record = decoded.kind === "records" ? decoded.records[0] : undefined;
  if (record?.kind !== "event") throw new Error(`not read: ${JSON.stringify(decoded)}`);
  return record.event;
}
