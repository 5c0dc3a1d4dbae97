// Received messages: a delivery in the format of ReceiveMessage.
//   R1. Attributes are returned only if requested, and the checksum covers only those returned.
//   R2. `All`, `.*` and `*` request every attribute; `Foo.*` requests those that begin with Foo.
//   R3. Requested message attributes may be absent; an unknown system attribute is an error.

import { md5Hex } from "../../../core/encoding/hash.ts";
import { type Result, type Success, succeed } from "../../../core/result.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { MessageAttribute, ReceivedCopy } from "../../model/operations.ts";
import {
  messageAttributes,
  queueAttributes,
  structureShape,
  textShape,
  type ValueOf,
} from "../protocol/shape.ts";
import { isBinaryType, md5OfAttributes } from "./md5-attributes.ts";

export const receivedMessage = structureShape({
  MessageId: textShape,
  ReceiptHandle: textShape,
  MD5OfBody: textShape,
  Body: textShape,
  Attributes: queueAttributes,
  MD5OfMessageAttributes: textShape,
  MessageAttributes: messageAttributes,
});

type ReceivedMessage = ValueOf<typeof receivedMessage>;

type Names = readonly string[] | null | undefined;

/** Selects the message attributes to return; null returns none. */
export type AttributeFilter = ((name: string) => boolean) | null;

export function attributeFilter(names: Names): AttributeFilter {
  if (names === undefined || names === null || names.length === 0) return null;
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const name of names) {
    if (name === "All" || name === ".*" || name === "*") return () => true; // R2
    if (name.endsWith(".*")) prefixes.push(name.slice(0, -2));
    else exact.add(name);
  }
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

/** Each system attribute and how to read it from a delivery; null if the delivery has none. */
const SYSTEM_ATTRIBUTES: ReadonlyMap<
  string,
  (delivery: ReceivedCopy, senderId: string) => string | null
> = new Map<string, (delivery: ReceivedCopy, senderId: string) => string | null>([
  ["SenderId", (_, senderId) => senderId],
  ["SentTimestamp", (delivery) => String(delivery.sentAt)],
  ["ApproximateReceiveCount", (delivery) => String(delivery.receiveCount)],
  ["ApproximateFirstReceiveTimestamp", (delivery) => String(delivery.firstReceivedAt)],
  ["SequenceNumber", (delivery) => delivery.sequenceNumber],
  ["MessageDeduplicationId", (delivery) => delivery.dedupId],
  ["MessageGroupId", (delivery) => delivery.groupId],
  ["AWSTraceHeader", (delivery) => delivery.traceHeader],
  ["DeadLetterQueueSourceArn", (delivery) => delivery.sourceArn],
]);

/** AttributeNames also accepts the names of queue attributes, as on AWS; they select nothing. */
const QUEUE_ATTRIBUTE_NAMES: ReadonlySet<string> = new Set([
  "Policy",
  "VisibilityTimeout",
  "MaximumMessageSize",
  "MessageRetentionPeriod",
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesNotVisible",
  "ApproximateNumberOfMessagesDelayed",
  "CreatedTimestamp",
  "LastModifiedTimestamp",
  "QueueArn",
  "DelaySeconds",
  "ReceiveMessageWaitTimeSeconds",
  "RedrivePolicy",
  "RedriveAllowPolicy",
  "FifoQueue",
  "ContentBasedDeduplication",
  "DeduplicationScope",
  "FifoThroughputLimit",
  "KmsMasterKeyId",
  "KmsDataKeyReusePeriodSeconds",
  "SqsManagedSseEnabled",
]);

const ALL_SYSTEM_ATTRIBUTES: readonly string[] = [...SYSTEM_ATTRIBUTES.keys()];
const NO_NAMES: Success<readonly string[]> = succeed([]);

/** Returns the system attributes that two lists of names request together, or refuses them (R3). */
export function systemAttributeNames(
  first: Names,
  second: Names,
): Result<readonly string[], Fault> {
  if (!first?.length && !second?.length) return NO_NAMES;
  const names = new Set<string>();
  for (const name of [...(first ?? []), ...(second ?? [])]) {
    if (name === "All") for (const each of ALL_SYSTEM_ATTRIBUTES) names.add(each);
    else if (SYSTEM_ATTRIBUTES.has(name)) names.add(name);
    else if (!QUEUE_ATTRIBUTE_NAMES.has(name)) {
      return refuse("InvalidAttributeName", `Unknown Attribute ${name.slice(0, 256)}.`);
    }
  }
  return succeed([...names]);
}

export function showDelivery(
  delivery: ReceivedCopy,
  systemNames: readonly string[],
  filter: AttributeFilter,
  senderId: string,
): ReceivedMessage {
  const attributes = filterAttributes(delivery, filter);
  return {
    MessageId: delivery.messageId,
    ReceiptHandle: delivery.receiptHandle,
    MD5OfBody: md5Hex(delivery.body),
    Body: delivery.body,
    Attributes: systemAttributes(delivery, systemNames, senderId),
    MD5OfMessageAttributes: attributes && md5OfAttributes(attributes), // R1
    MessageAttributes: attributes && showAttributes(attributes),
  };
}

function systemAttributes(
  delivery: ReceivedCopy,
  names: readonly string[],
  senderId: string,
): Record<string, string> | undefined {
  if (names.length === 0) return undefined;
  const shown: Record<string, string> = {};
  let count = 0;
  for (const name of names) {
    const value = SYSTEM_ATTRIBUTES.get(name)!(delivery, senderId);
    if (value === null) continue;
    shown[name] = value;
    count++;
  }
  return count === 0 ? undefined : shown;
}

function filterAttributes(
  { attributes }: ReceivedCopy,
  filter: AttributeFilter,
): Record<string, MessageAttribute> | undefined {
  if (attributes === null || filter === null) return undefined;
  const selected: Record<string, MessageAttribute> = Object.create(null);
  let count = 0;
  for (const name of Object.keys(attributes)) {
    if (!filter(name)) continue;
    selected[name] = attributes[name]!;
    count++;
  }
  return count === 0 ? undefined : selected;
}

function showAttributes(attributes: Record<string, MessageAttribute>) {
  const shown: Record<string, ValueOf<typeof messageAttributes>[string]> = Object.create(null);
  for (const name of Object.keys(attributes)) {
    const { type, value } = attributes[name]!;
    shown[name] = isBinaryType(type)
      ? { BinaryValue: value, DataType: type }
      : { StringValue: value, DataType: type };
  }
  return shown;
}
