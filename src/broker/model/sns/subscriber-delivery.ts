// SubscriberDelivery: delivers one copy of a published message to one subscriber, in the publish's
// own step.
//   D1. A copy is in its queue, pending for its HTTP endpoint, in the subscription's dead-letter
//       queue, or counted as dropped; it never disappears silently.
//   D2. A copy that an embedded queue cannot accept (missing, too small, not allowed) goes to the
//       dead-letter queue immediately: a retry would not help.
//   D3. Injected faults delay a copy or send it twice, but never twice to a FIFO queue: its
//       deduplication would drop the second.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import { SNS_RAW_ATTRIBUTES_MAX } from "../../../core/limits.ts";
import { durationMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { QueueState } from "../sqs/queue.ts";
import { formatSequenceNumber } from "../sqs/sequence-number.ts";
import type { ModelStep } from "../step.ts";
import { passesFilter } from "./filter-policy.ts";
import { SIGNATURE_BYTES, type SignatureLinks, shareNotification } from "./notification.ts";
import { putPendingHttp } from "./pending-http.ts";
import type { Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";
import { type Copy, mayDeliver, putCopy, putDeadLetter, type TopicMessage } from "./topic-copy.ts";

export function deliverCopy(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  message: TopicMessage,
): void {
  const { record, settings } = subscription;
  const body = message.bodies?.[record.protocol] ?? message.body;
  if (settings.filter !== null && !passesFilter(settings.filter, message.attributes, body)) return;
  const copy = copyFor(state, subscription, message, body);
  const { faults } = state;
  if (!faults.active) {
    putForSubscriber(state, step, subscription, message, copy);
    return;
  }
  const { name } = subscription.topic.record;
  const lateMs = durationMs((message.lateMs ?? 0) + faults.extraDelayMs("topic", name));
  const delayed = { ...copy, lateMs };
  const toFifo = record.endpoint.endsWith(".fifo");
  const twice = !toFifo && faults.duplicates("topic", name); // D3
  putForSubscriber(state, step, subscription, message, delayed);
  if (twice) putForSubscriber(state, step, subscription, message, delayed);
}

function putForSubscriber(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  message: TopicMessage,
  copy: Copy,
): void {
  if (subscription.pendingHttp !== null) {
    putPendingHttp(state, step, subscription, { ...copy, id: message.id, purpose: undefined });
    return;
  }
  const queue = state.queueByArn(subscription.record.endpoint);
  const accepted =
    queue !== undefined && offer(state, step, subscription.topic, queue, message, copy);
  if (!accepted) putDeadLetter(state, step, subscription, message, copy); // D2
}

function copyFor(
  state: BrokerState,
  subscription: Subscription,
  message: TopicMessage,
  body: string,
): Copy {
  const { topic, settings } = subscription;
  if (settings.raw) {
    const attributes = message.replayed ? markReplayed(message.attributes) : message.attributes;
    const write = () => JSON.stringify(message.attributes);
    const isShared = attributes !== null && !message.replayed;
    const shared = isShared ? message.shared.of("raw", message.attributes, write) : undefined;
    const sizeBytes = message.shared.of("body", body, () => body).bytes;
    return { body, sizeBytes, attributes, attributesText: shared?.text, unsigned: undefined };
  }
  const signature = topic.fifo ? null : signatureLinks(state, topic, message.origin);
  const topicArn = state.topicArnOf(topic.record.name);
  const fields = {
    messageId: message.id,
    sequenceNumber: topic.fifo ? formatSequenceNumber(message.seq) : null,
    topicArn,
    subject: message.subject,
    message: body,
    timestamp: formatInstant(message.publishedAt),
    signature,
    unsubscribeUrl:
      `${message.origin}/?Action=Unsubscribe&` +
      `SubscriptionArn=${topicArn}:${subscription.record.id}`,
    attributes: message.attributes,
    replayed: message.replayed,
  };
  const { text, bytes } = shareNotification(fields, message.shared);
  const sizeBytes = bytes + (signature === null ? 0 : SIGNATURE_BYTES);
  return { body: text, sizeBytes, attributes: null, unsigned: signature?.version };
}

function markReplayed(attributes: TopicMessage["attributes"]) {
  return { ...attributes, Replayed: { type: "String", value: "true" } };
}

/** Null without a signer. */
export function signatureLinks(
  state: BrokerState,
  topic: Topic,
  origin: string,
): SignatureLinks | null {
  const { signing } = state.topics;
  if (signing === null) return null;
  return {
    version: topic.settings.signatureVersion,
    certificateUrl: `${origin}/SimpleNotificationService-${signing.id}.pem`,
  };
}

/** Adds a copy to a queue, if the queue allows and can hold it. */
function offer(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  queue: QueueState,
  message: TopicMessage,
  copy: Copy,
): boolean {
  if (queue.fifo && !topic.fifo) return false;
  if (!mayDeliver(state, topic, queue)) return false;
  if (copy.sizeBytes > queue.settings.messageBytesMax) return false;
  const carried = copy.attributes === null ? null : message.attributes; // Without Replayed.
  if (Object.keys(carried ?? {}).length > SNS_RAW_ATTRIBUTES_MAX) return false;
  putCopy(state, step, topic, queue, message, copy);
  return true;
}
