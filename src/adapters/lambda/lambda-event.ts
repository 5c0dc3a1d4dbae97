// Lambda event: the deliveries in an event that Lambda passes to a function.
//   V1. An event has records of one source: a queue, or S3 or SNS directly. Anything else is
//       rejected in one sentence, and nothing of it is processed.
//   V2. A record of S3 or SNS becomes a delivery with the body that a queue would have delivered,
//       so that decode treats both alike.
//   V3. A direct record is identified by the request id of its invocation, which is the same for
//       every retry of it, and by its position.

import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import { parseInstant } from "../../core/encoding/rfc3339.ts";
import { refuseValue } from "../../core/errors.ts";
import { asObject } from "../../core/events/problem.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

export type LambdaBatch =
  | { readonly kind: "queue"; readonly arn: string; readonly deliveries: readonly Delivery[] }
  | { readonly kind: "direct"; readonly deliveries: readonly Delivery[] };

const ADVICE = "connect the function to an SQS queue, an S3 bucket or an SNS topic";

/** Reads an event; throws TG_VALUE_INVALID if it is of another source (V1). */
export function readLambdaEvent(
  event: unknown,
  { requestId, now }: { readonly requestId: string; readonly now: EpochMs },
): LambdaBatch {
  const records = asObject(event as never)?.Records;
  if (!Array.isArray(records)) {
    return refuseValue(`the event has no Records, but ${shown(event)}; ${ADVICE}`);
  }
  const sources = new Set(records.map((record) => sourceOf(asObject(record))));
  const [source] = records.length === 0 ? ["aws:sqs"] : sources;
  if (sources.size > 1) {
    return refuseValue(
      `the event has records of several sources: ${[...sources].map(shown).join(", ")}`,
    );
  }
  const all = records.map((record) => asObject(record) ?? {});
  const direct = (bodyOf: (record: JsonObject) => string, sentAtOf: (r: JsonObject) => unknown) => {
    const deliveries = all.map((record, at) => {
      const id = `${requestId}-${at}`; // V3
      return directDelivery(id, bodyOf(record), instantOf(sentAtOf(record), now));
    });
    return { kind: "direct", deliveries } as const;
  };
  switch (source) {
    case "aws:sqs":
      return queueBatch(all, now);
    case "aws:s3": // V2
      return direct(
        (record) => JSON.stringify({ Records: [record] }),
        ({ eventTime }) => eventTime,
      );
    case "aws:sns":
      return direct(
        ({ Sns }) => JSON.stringify({ Type: "Notification", ...asObject(Sns) }),
        ({ Sns }) => asObject(Sns)?.Timestamp,
      );
    case undefined:
      return refuseValue(`the event has records without a source; ${ADVICE}`);
    default:
      return refuseValue(`the event has records of the unknown source ${shown(source)}; ${ADVICE}`);
  }
}

/** S3 and SQS write eventSource, SNS writes EventSource. */
function sourceOf(record: JsonObject | undefined): string | undefined {
  const source = record?.eventSource ?? record?.EventSource;
  return typeof source === "string" ? source : undefined;
}

const SHOWN_CHARS_MAX = 60;

/** A value, or the names of its members, short enough for one sentence. */
function shown(value: unknown): string {
  const members = asObject(value as never);
  const what = members === undefined ? value : Object.keys(members);
  const text = JSON.stringify(what) ?? String(what);
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}…`;
}

function queueBatch(records: readonly JsonObject[], now: EpochMs): LambdaBatch {
  const arns = new Set(records.map(({ eventSourceARN }) => eventSourceARN));
  const [arn = ""] = arns;
  if (arns.size > 1 || typeof arn !== "string") {
    return refuseValue("the event has records of several queues, or without eventSourceARN");
  }
  return { kind: "queue", arn, deliveries: records.map((record) => queueDelivery(record, now)) };
}

function queueDelivery(record: JsonObject, now: EpochMs): Delivery {
  const { messageId, receiptHandle, body } = record;
  const complete =
    typeof messageId === "string" && typeof receiptHandle === "string" && typeof body === "string";
  if (!complete)
    return refuseValue("a record of the event has no messageId, receiptHandle or body");
  const system = asObject(record.attributes) ?? {};
  const text = (name: string) => (typeof system[name] === "string" ? system[name] : null);
  return {
    messageId,
    receipt: receiptHandle,
    body,
    attributes: textAttributes(asObject(record.messageAttributes) ?? {}),
    traceHeader: text("AWSTraceHeader"),
    groupId: text("MessageGroupId"),
    dedupId: text("MessageDeduplicationId"),
    sentAt: epochMs(countOf(text("SentTimestamp")) ?? now),
    receiveCount: countOf(text("ApproximateReceiveCount")) ?? 1,
    movedFrom: text("DeadLetterQueueSourceArn"),
  };
}

function countOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function textAttributes(attributes: JsonObject): Record<string, string> {
  const texts: [string, string][] = [];
  for (const [name, attribute] of Object.entries(attributes)) {
    const { dataType, stringValue } = asObject(attribute) ?? {};
    const binary = typeof dataType === "string" && dataType.startsWith("Binary");
    if (typeof stringValue === "string" && !binary) texts.push([name, stringValue]);
  }
  return Object.fromEntries(texts);
}

function directDelivery(id: string, body: string, sentAt: EpochMs): Delivery {
  return {
    messageId: id,
    receipt: id,
    body,
    attributes: {},
    traceHeader: null,
    groupId: null,
    dedupId: null,
    sentAt,
    receiveCount: 1,
    movedFrom: null,
  };
}

function instantOf(value: unknown, fallback: EpochMs): EpochMs {
  const parsed = typeof value === "string" ? parseInstant(value) : null;
  return parsed?.kind === "instant" ? parsed.epochMs : fallback;
}
