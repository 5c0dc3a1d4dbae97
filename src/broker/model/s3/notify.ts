// Notify: sends an object's event to the configured targets, in the step that changes the object.
//   Y1. The object and its event are one commit: after a crash there is neither an object without
//       its event nor an event without its object.
//   Y2. A target that no longer exists, or cannot accept the message, is skipped: the change of the
//       object stays.
//   Y3. Injected faults of the bucket delay an event or send it twice; those of the target queue or
//       topic come on top.

import { utf8ByteLength } from "../../../core/encoding/text.ts";
import type { DurationMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { send } from "../sqs/send.ts";
import type { ModelStep } from "../step.ts";
import type { BucketRecord } from "./bucket.ts";
import { type BucketEvent, eventBridgeMessage, s3Message, testMessage } from "./event-message.ts";
import { fitsEvent, fitsKey, mayNotify, type NotificationTarget } from "./notification-config.ts";
import { deliverToTopic } from "./publish-event.ts";
import type { Origin } from "./s3-operations.ts";

export function notify(
  state: BrokerState,
  step: ModelStep,
  bucket: BucketRecord,
  origin: Origin,
  event: BucketEvent,
): void {
  const { targets, eventBridge } = bucket.notification;
  for (const target of targets) {
    if (!target.events.some((pattern) => fitsEvent(pattern, `s3:${event.name}`))) continue;
    if (!fitsKey(target, event.key)) continue;
    const message = s3Message(bucket, origin, event, target.id, step.now);
    const { twice, lateMs } = injectedInto(state, bucket);
    deliver(state, step, bucket, origin, target, message, lateMs); // Y1
    if (twice) deliver(state, step, bucket, origin, target, message, lateMs); // Y3
  }
  if (!eventBridge || origin.eventBridgeQueue === null) return;
  const message = eventBridgeMessage(state, bucket, origin, event, step.newId(), step.now);
  const { twice, lateMs } = injectedInto(state, bucket);
  sendToQueue(state, step, origin, origin.eventBridgeQueue, message, lateMs);
  if (twice) sendToQueue(state, step, origin, origin.eventBridgeQueue, message, lateMs);
}

interface InjectedFaults {
  readonly twice: boolean;
  readonly lateMs: DurationMs | undefined;
}

const NONE_INJECTED: InjectedFaults = { twice: false, lateMs: undefined };

/** The faults of one event of a bucket (Y3). */
function injectedInto({ faults }: BrokerState, { name }: BucketRecord): InjectedFaults {
  if (!faults.active) return NONE_INJECTED;
  const twice = faults.duplicates("bucket", name);
  return { twice, lateMs: faults.extraDelayMs("bucket", name) };
}

/** Sends the test event to new targets. */
export function sendTestEvents(
  state: BrokerState,
  step: ModelStep,
  bucket: BucketRecord,
  origin: Origin,
  targets: readonly NotificationTarget[],
): void {
  const message = testMessage(bucket.name, origin, step.now);
  for (const target of targets) deliver(state, step, bucket, origin, target, message);
}

function deliver(
  state: BrokerState,
  step: ModelStep,
  bucket: BucketRecord,
  origin: Origin,
  target: NotificationTarget,
  message: string,
  lateMs?: DurationMs,
): void {
  if (target.kind === "topic") {
    deliverToTopic(state, step, target.arn, message, origin, lateMs);
    return;
  }
  const queue = state.queueByArn(target.arn);
  if (queue === undefined || !mayNotify(state, bucket.name, queue)) return; // Y2
  sendToQueue(state, step, origin, queue.record.name, message, lateMs);
}

function sendToQueue(
  state: BrokerState,
  step: ModelStep,
  origin: Origin,
  queue: string,
  body: string,
  lateMs: DurationMs | undefined,
): void {
  // A queue that is missing or refuses the message is skipped, so the result is ignored (Y2).
  send(state, step, {
    queue,
    batch: false,
    entries: [
      {
        body,
        sizeBytes: utf8ByteLength(body),
        attributes: null,
        traceHeader: origin.traceHeader ?? null,
        groupId: null,
        dedupId: null,
        delayMs: null,
        lateMs,
      },
    ],
  });
}
