// PendingHttp: messages for HTTP endpoints. HttpDelivery takes them, posts them and reports the
// result; this file decides everything that must survive a crash.
//   G1. A message leaves the pending queue only when the endpoint has accepted it, when its retries
//       are used up, or when the endpoint has rejected it for good.
//   G2. Taking counts as an attempt and is committed before the request goes out: a crash can
//       repeat a request, but never adds a retry beyond the policy.
//   G3. A result names its attempt; a result that comes too late changes nothing.
//   G4. A request to confirm a subscription is retried like a notification and then deleted; only
//       notifications become dead letters.

import { SNS_HTTP_TIMEOUT_MS } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, type DurationMs, durationMs, type EpochMs, epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import { formatDetail, type MessageDetail, parseDetail } from "../sqs/message-detail.ts";
import type { QueueState } from "../sqs/queue.ts";
import { emitReceipt } from "../sqs/receipt.ts";
import { SlotState } from "../sqs/schedule/message-slab.ts";
import type { ModelStep } from "../step.ts";
import { type DeliveryPolicy, effectivePolicy, httpRetryDelayMs } from "./delivery-policy.ts";
import type { Subscription } from "./subscription.ts";
import { putDeadLetter } from "./topic-copy.ts";
import type { PendingHttpMessage, TopicOperations } from "./topic-operations-contract.ts";

/** After this long without a result the request is considered lost. */
const ATTEMPT_MS = durationMs(SNS_HTTP_TIMEOUT_MS + 5_000);
const SECOND_MS = 1_000;

interface Outgoing extends Pick<MessageDetail, "attributes" | "unsigned" | "purpose"> {
  readonly attributesText?: string | undefined;
  readonly id: string;
  readonly body: string;
  readonly lateMs?: DurationMs | undefined;
}

export function putPendingHttp(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  message: Outgoing,
): void {
  const queue = subscription.pendingHttp as QueueState;
  const { id, body, attributes, unsigned, purpose } = message;
  const head = {
    seq: state.nextSeq(),
    queue: queue.record.number,
    sentAt: step.now,
    dueAt: addMs(step.now, message.lateMs ?? durationMs(0)),
    receivedAt: epochMs(0),
    firstReceivedAt: epochMs(0),
    receiveCount: 0,
    group: null,
    arrivalCount: 0,
  };
  queue.insert(head, step.now);
  const plain = { traceHeader: null, dedupId: null, sourceArn: null };
  const detail = formatDetail({ ...plain, attributes, unsigned, purpose }, message.attributesText);
  step.emit({ kind: "put-message", head, content: { id, body, detail } });
}

function policyOf({ topic, settings }: Subscription): DeliveryPolicy {
  // Changes of a policy apply immediately.
  return effectivePolicy(topic.settings.delivery, settings.delivery);
}

/** When the next message is due, or null. */
export function nextPendingHttpAt(state: BrokerState, now: EpochMs): EpochMs | null {
  let earliest = Number.POSITIVE_INFINITY;
  for (const { pendingHttp, nextTakeAt } of state.topics.withHttp) {
    if (pendingHttp === null || pendingHttp.total === 0) continue;
    const due = pendingHttp.visible > 0 ? now : (pendingHttp.nextDueAt ?? now);
    earliest = Math.min(earliest, Math.max(due, nextTakeAt));
  }
  return earliest === Number.POSITIVE_INFINITY ? null : epochMs(Math.ceil(earliest));
}

export function takePendingHttp(
  state: BrokerState,
  step: ModelStep,
  input: { max: number },
): Result<{ messages: PendingHttpMessage[] }, Fault> {
  const messages: PendingHttpMessage[] = [];
  // One of each in turn, so that an endpoint with a backlog does not delay the others.
  let idle = 0;
  const open = [...state.topics.withHttp];
  for (const { pendingHttp } of open) if (pendingHttp !== null) state.advance(pendingHttp, step);
  for (let at = 0; open.length > 0 && messages.length < input.max && idle < open.length; at += 1) {
    const subscription = open[at % open.length] as Subscription;
    const message = takeOne(state, step, subscription);
    idle = message === null ? idle + 1 : 0;
    if (message !== null) messages.push(message);
  }
  return succeed({ messages });
}

function takeOne(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
): PendingHttpMessage | null {
  const queue = subscription.pendingHttp as QueueState;
  if (queue.visible === 0 || subscription.nextTakeAt > step.now) return null;
  const slot = queue.openReceive(step.now).next();
  if (slot === 0) return null;
  queue.take(slot, step.now, addMs(step.now, ATTEMPT_MS));
  emitReceipt(state, step, slot); // G2
  const policy = policyOf(subscription);
  if (policy.perSecondMax !== null) {
    const from = Math.max(subscription.nextTakeAt, step.now - SECOND_MS);
    subscription.nextTakeAt = from + SECOND_MS / policy.perSecondMax;
  }
  const seq = state.slab.seq.get(slot);
  const content = step.read(seq);
  const { unsigned, purpose } = parseDetail(content.detail);
  const topicArn = state.topicArnOf(subscription.topic.record.name);
  const { id, endpoint } = subscription.record;
  const raw = subscription.settings.raw && purpose === undefined;
  return {
    subscription: id,
    seq,
    attempt: state.slab.receiveCount.get(slot),
    endpoint,
    headers: {
      "x-amz-sns-message-type": purpose ?? "Notification",
      "x-amz-sns-message-id": content.id,
      "x-amz-sns-topic-arn": topicArn,
      ...(purpose === undefined ? { "x-amz-sns-subscription-arn": `${topicArn}:${id}` } : {}),
      ...(raw ? { "x-amz-sns-rawdelivery": "true" } : {}),
      "content-type": policy.contentType,
      "user-agent": "Amazon Simple Notification Service Agent",
    },
    body: content.body,
    unsigned: unsigned ?? null,
  };
}

export function finishPendingHttp(
  state: BrokerState,
  step: ModelStep,
  input: TopicOperations["finishPendingHttp"]["input"],
): Result<null, Fault> {
  const subscription = state.topics.subscriptions.get(input.subscription);
  const queue = subscription?.pendingHttp ?? null;
  if (subscription === undefined || queue === null) return succeed(null);
  const slot = queue.find(input.seq);
  if (slot === 0 || state.slab.receiveCount.get(slot) !== input.attempt) return succeed(null); // G3
  const delayMs =
    input.result === "failed"
      ? httpRetryDelayMs(policyOf(subscription).retry, input.attempt)
      : null;
  if (delayMs !== null) {
    queue.hide(slot, SlotState.inFlight, addMs(step.now, delayMs), step.now);
    emitReceipt(state, step, slot);
    return succeed(null);
  }
  if (input.result !== "delivered") bury(state, step, subscription, input.seq);
  queue.remove(slot, step.now);
  step.emit({ kind: "delete-message", seq: input.seq }); // G1
  return succeed(null);
}

function bury(state: BrokerState, step: ModelStep, subscription: Subscription, seq: number): void {
  const content = step.read(seq);
  const { attributes, unsigned, purpose } = parseDetail(content.detail);
  if (purpose !== undefined) return; // G4
  const message = { groupId: null, dedupId: null, traceHeader: null, replayed: false };
  const copy = { body: content.body, sizeBytes: 0, attributes, unsigned };
  putDeadLetter(state, step, subscription, message, copy);
}
