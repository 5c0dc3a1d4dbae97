// Notify: sends what happened to those who wanted to know, in the very step in which it happens.
//   Y1. The object and its event are one commit: no object without its event, no event without its
//       object, whatever the crash.
//   Y2. A destination that has gone, or that cannot take the message, is passed over: what happened
//       to the object is not undone for it.

import { utf8ByteLength } from "../../../core/text.ts";
import type { BrokerState } from "../broker-state.ts";
import { send } from "../send.ts";
import type { Step } from "../step.ts";
import type { BucketRecord } from "./bucket.ts";
import { eventBridgeMessage, type ObjectEvent, s3Message, testMessage } from "./event-message.ts";
import { fitsEvent, fitsKey, mayNotify, type NotificationTarget } from "./notification-config.ts";
import type { Origin } from "./s3-operations.ts";
import { deliverToTopic } from "./topic-delivery.ts";

export function notify(
  state: BrokerState,
  step: Step,
  bucket: BucketRecord,
  origin: Origin,
  event: ObjectEvent,
): void {
  const { targets, eventBridge } = bucket.notification;
  for (const target of targets) {
    if (!target.events.some((pattern) => fitsEvent(pattern, `s3:${event.name}`))) continue;
    if (!fitsKey(target, event.key)) continue;
    const message = s3Message(bucket, origin, event, target.id, step.now);
    deliver(state, step, bucket, origin, target, message); // Y1
  }
  if (!eventBridge || origin.eventBridgeQueue === null) return;
  const message = eventBridgeMessage(state, bucket, origin, event, step.newId(), step.now);
  sendToQueue(state, step, origin.eventBridgeQueue, message);
}

/** Tells destinations that they have been chosen. */
export function sendTestEvents(
  state: BrokerState,
  step: Step,
  bucket: BucketRecord,
  origin: Origin,
  targets: readonly NotificationTarget[],
): void {
  const message = testMessage(bucket.name, origin, step.now);
  for (const target of targets) deliver(state, step, bucket, origin, target, message);
}

function deliver(
  state: BrokerState,
  step: Step,
  bucket: BucketRecord,
  origin: Origin,
  target: NotificationTarget,
  message: string,
): void {
  if (target.kind === "topic") {
    deliverToTopic(state, step, target.arn, message, origin);
    return;
  }
  const queue = state.queueByArn(target.arn);
  if (queue === undefined || !mayNotify(state, bucket.name, queue)) return; // Y2
  sendToQueue(state, step, queue.record.name, message);
}

function sendToQueue(state: BrokerState, step: Step, queue: string, body: string): void {
  // The outcome is not looked at: a queue that is gone or takes no message that long is passed over
  // (Y2).
  send(state, step, {
    queue,
    batch: false,
    entries: [
      {
        body,
        sizeBytes: utf8ByteLength(body),
        attributes: null,
        traceHeader: null,
        groupId: null,
        dedupId: null,
        delayMs: null,
      },
    ],
  });
}
