// SubscriptionOperations: subscribe, confirm, change and unsubscribe endpoints.
//   O1. Subscribing again returns the same subscription, if no given attribute differs; an
//       unconfirmed HTTP endpoint gets another request to confirm.
//   O2. A queue of this account needs no confirmation, and need not exist yet.
//   O3. Unsubscribing a missing subscription succeeds.

import { formatInstant } from "../../../core/encoding/rfc3339.ts";
import {
  SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX,
  SNS_MESSAGE_BYTES_DEFAULT,
  SQS_RETENTION_MS_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { QueueState } from "../sqs/queue.ts";
import type { ModelStep } from "../step.ts";
import { type ArchiveReplay, parseReplayPolicy, startReplay } from "./archive-replay.ts";
import { writeConfirmation } from "./notification.ts";
import { putPendingHttp } from "./pending-http.ts";
import { signatureLinks } from "./subscriber-delivery.ts";
import type { Protocol, Subscription, SubscriptionRecord } from "./subscription.ts";
import { mergeSubscriptionAttributes, viewAttributes } from "./subscription-attributes.ts";
import type { Topic } from "./topic.ts";
import { invalidTopicParameter, missingSubscription, missingTopic } from "./topic-faults.ts";
import { viewSubscription } from "./topic-lists.ts";
import type {
  SubscribeInput,
  SubscriptionView,
  TopicOperations,
} from "./topic-operations-contract.ts";
import { isStale } from "./topics.ts";

type Input<K extends keyof TopicOperations> = TopicOperations[K]["input"];

/** How many random ids make a token as long as AWS's. */
const TOKEN_IDS = 9;

export function stepSubscribe(
  state: BrokerState,
  step: ModelStep,
  input: SubscribeInput,
): Result<SubscriptionView, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const refused = checkEndpoint(topic, input);
  if (refused !== null) return refused;
  const protocol = input.protocol as Protocol;
  const { endpoint } = input;
  const target = { topic, protocol, endpoint, current: {} };
  const merged = mergeSubscriptionAttributes(target, input.attributes);
  if (!merged.ok) return invalidTopicParameter(`Attributes Reason: ${merged.fault}`);
  const existing = [...topic.subscriptions.values()].find(
    ({ record }) => record.protocol === protocol && record.endpoint === endpoint,
  );
  if (existing !== undefined) return resubscribe(state, step, existing, input); // O1
  const large = topic.settings.messageBytesMax > SNS_MESSAGE_BYTES_DEFAULT;
  if (large && topic.subscriptions.size >= SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX) {
    return invalidTopicParameter(
      `Attributes Reason: A topic with a MaximumMessageSize above ${SNS_MESSAGE_BYTES_DEFAULT} ` +
        `has at most ${SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX} subscriptions`,
    );
  }
  const subscription = create(state, step, topic, protocol, endpoint, merged.value);
  if (!subscription.record.confirmed) askToConfirm(state, step, subscription, input.origin);
  return succeed(viewSubscription(state, subscription));
}

function checkEndpoint(topic: Topic, { protocol, endpoint }: SubscribeInput) {
  if (protocol === "sqs") {
    if (!/^arn:[^:]*:sqs:[^:]*:[^:]*:[^:]+$/.test(endpoint)) {
      return invalidTopicParameter("SQS endpoint ARN");
    }
    if (endpoint.endsWith(".fifo") && !topic.fifo) {
      return invalidTopicParameter(
        "Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard " +
          "SNS topics",
      );
    }
    return null;
  }
  if (protocol !== "http" && protocol !== "https") {
    return invalidTopicParameter(`Amazon SNS does not support this protocol string: ${protocol}`);
  }
  if (!endpoint.startsWith(`${protocol}://`)) {
    return invalidTopicParameter("Endpoint must match the specified protocol");
  }
  if (!URL.canParse(endpoint)) return invalidTopicParameter("Endpoint");
  if (topic.fifo) {
    return invalidTopicParameter(
      `Invalid parameter: Endpoint Reason: FIFO topics can not deliver to ${protocol} endpoints`,
    );
  }
  if (topic.settings.messageBytesMax > SNS_MESSAGE_BYTES_DEFAULT) {
    return invalidTopicParameter(
      "Invalid parameter: Endpoint Reason: A topic with a MaximumMessageSize above " +
        `${SNS_MESSAGE_BYTES_DEFAULT} can not deliver to ${protocol} endpoints`,
    );
  }
  return null;
}

function create(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  protocol: Protocol,
  endpoint: string,
  attributes: Readonly<Record<string, string>>,
): Subscription {
  const viaHttp = protocol !== "sqs";
  const record: SubscriptionRecord = {
    id: step.newId(),
    topic: topic.record.number,
    order: state.topics.nextOrder(),
    protocol,
    endpoint,
    createdAt: step.now,
    attributes,
    token: viaHttp ? newToken(step) : null,
    confirmed: !viaHttp, // O2
    confirmationAuthenticated: !viaHttp,
    authenticateOnUnsubscribe: false,
    pendingHttp: viaHttp ? state.takeNumber(step) : 0,
    replay: replayOf(state, attributes.ReplayPolicy, null),
  };
  const pendingHttp = viaHttp ? createPendingHttp(state, record) : null;
  const subscription = state.topics.addSubscription(record, topic, pendingHttp);
  state.topics.saveSubscription(subscription, record, step);
  return subscription;
}

function newToken(step: ModelStep): string {
  const ids = Array.from({ length: TOKEN_IDS }, () => step.newId().replaceAll("-", ""));
  return ids.join("");
}

/** The pending queue of a subscription, new or loaded from disk. */
export function createPendingHttp(state: BrokerState, record: SubscriptionRecord): QueueState {
  return state.addHiddenQueue({
    number: record.pendingHttp,
    name: `pending-http ${record.id}`,
    createdAt: record.createdAt,
    modifiedAt: record.createdAt,
    attributes: { MessageRetentionPeriod: String(SQS_RETENTION_MS_MAX / 1_000) },
    tags: {},
    dedupPerGroup: false,
    purgedAt: null,
    purgedThrough: 0,
    delayedThrough: 0,
  });
}

function resubscribe(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  input: SubscribeInput,
): Result<SubscriptionView, Fault> {
  const view = viewAttributes(state, subscription);
  if (Object.entries(input.attributes).some(([name, value]) => view[name] !== value)) {
    return invalidTopicParameter(
      "Attributes Reason: Subscription already exists with different attributes",
    );
  }
  if (!subscription.record.confirmed) askToConfirm(state, step, subscription, input.origin);
  return succeed(viewSubscription(state, subscription));
}

function askToConfirm(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  origin: string,
): void {
  const { topic, record } = subscription;
  const topicArn = state.topicArnOf(topic.record.name);
  const token = record.token as string;
  const id = step.newId();
  const signature = signatureLinks(state, topic, origin);
  const body = writeConfirmation({
    messageId: id,
    token,
    topicArn,
    timestamp: formatInstant(step.now),
    subscribeUrl: `${origin}/?Action=ConfirmSubscription&TopicArn=${topicArn}&Token=${token}`,
    signature,
  });
  putPendingHttp(state, step, subscription, {
    id,
    body,
    attributes: null,
    unsigned: signature?.version,
    purpose: "SubscriptionConfirmation",
  });
}

export function stepConfirmSubscription(
  state: BrokerState,
  step: ModelStep,
  input: Input<"confirmSubscription">,
): Result<{ arn: string }, Fault> {
  if (!/^[0-9a-f]{64,512}$/.test(input.token)) return refuse("InvalidParameter", "Invalid token");
  const subscription = state.topics.byToken.get(input.token);
  if (subscription === undefined || isStale(subscription.record, step.now, state.time)) {
    return invalidTopicParameter("Token");
  }
  const { arn } = viewSubscription(state, subscription);
  if (subscription.record.confirmed) return succeed({ arn });
  const record = {
    ...subscription.record,
    confirmed: true,
    confirmationAuthenticated: input.authenticated,
    authenticateOnUnsubscribe: input.authenticateOnUnsubscribe,
  };
  state.topics.saveSubscription(subscription, record, step);
  return succeed({ arn });
}

export function stepUnsubscribe(
  state: BrokerState,
  step: ModelStep,
  input: Input<"unsubscribe">,
): Result<null, Fault> {
  const subscription = state.topics.subscriptions.get(input.subscription);
  if (subscription === undefined) return succeed(null); // O3
  const { topic, record } = subscription;
  if (record.authenticateOnUnsubscribe && !input.authenticated) {
    return refuse("AuthorizationError", "Unsubscribing this endpoint requires authentication.");
  }
  state.topics.removeSubscription(state, subscription, step);
  const subscriptionsDeleted = topic.record.subscriptionsDeleted + 1;
  state.topics.saveTopic(topic, { ...topic.record, subscriptionsDeleted }, step);
  return succeed(null);
}

export function stepGetSubscriptionAttributes(
  state: BrokerState,
  _step: ModelStep,
  input: Input<"getSubscriptionAttributes">,
): Result<{ attributes: Record<string, string> }, Fault> {
  const subscription = state.topics.subscriptions.get(input.subscription);
  if (subscription === undefined) return missingSubscription();
  return succeed({ attributes: viewAttributes(state, subscription) });
}

export function setSubscriptionAttribute(
  state: BrokerState,
  step: ModelStep,
  input: Input<"setSubscriptionAttribute">,
): Result<null, Fault> {
  const subscription = state.topics.subscriptions.get(input.subscription);
  if (subscription === undefined) return missingSubscription();
  const { topic, record } = subscription;
  const { protocol, endpoint, attributes: current } = record;
  const target = { topic, protocol, endpoint, current };
  const merged = mergeSubscriptionAttributes(target, { [input.name]: input.value });
  if (!merged.ok) return invalidTopicParameter(merged.fault);
  const attributes = merged.value;
  const replay =
    input.name === "ReplayPolicy"
      ? replayOf(state, attributes.ReplayPolicy, record.replay)
      : record.replay;
  state.topics.saveSubscription(subscription, { ...record, attributes, replay }, step);
  return succeed(null);
}

/** Replays nothing from the archive, only live messages. */
const NOTHING = { startAt: Number.MAX_SAFE_INTEGER as EpochMs, endAt: null };

/**
 * The replay that a policy starts. Without a policy, messages that a running replay held back are
 * still sent.
 */
function replayOf(
  state: BrokerState,
  text: string | undefined,
  before: ArchiveReplay | null,
): ArchiveReplay | null {
  const active = before !== null && before.status !== "Completed";
  if (text === undefined) return active ? startReplay(state, NOTHING, before) : null;
  const policy = parseReplayPolicy(text);
  if (!policy.ok) return before;
  return startReplay(state, policy.value, active ? before : null);
}
