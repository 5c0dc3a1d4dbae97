// Topics: all topics and subscriptions of the broker, as one part of its state.
//   T1. Every change of a record is stored in memory and emitted in the same step.
//   T2. Pending queues of HTTP endpoints have numbers but no names: no client can reach them.

import { SNS_CONFIRMATION_MS } from "../../../core/limits.ts";
import type { RunningTime } from "../../../core/running-time.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { QueueState } from "../sqs/queue.ts";
import type { ModelStep } from "../step.ts";
import { Subscription, type SubscriptionRecord } from "./subscription.ts";
import { Topic, type TopicRecord } from "./topic.ts";
import type { SigningIdentity } from "./topic-operations-contract.ts";

const ACTIVE_REPLAYS = new Set(["Pending", "In progress"]);

export class Topics {
  readonly byName = new Map<string, Topic>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly byToken = new Map<string, Subscription>();
  /** Subscriptions of HTTP endpoints. */
  readonly withHttp = new Set<Subscription>();
  /** Subscriptions to which an archive is being replayed. */
  readonly replaying = new Set<Subscription>();
  signing: SigningIdentity | null = null;
  readonly #byNumber = new Map<number, Topic>();
  #order = 0;

  topicByNumber(number: number): Topic | undefined {
    return this.#byNumber.get(number);
  }

  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  addTopic(record: TopicRecord): Topic {
    const topic = new Topic(record);
    this.byName.set(record.name, topic);
    this.#byNumber.set(record.number, topic);
    return topic;
  }

  saveTopic(topic: Topic, record: TopicRecord, step: ModelStep): void {
    topic.update(record);
    const value = JSON.stringify(record);
    const document = { collection: "topic", key: String(record.number), value };
    step.emit({ kind: "put-document", document }); // T1
  }

  removeTopic(topic: Topic): void {
    this.byName.delete(topic.record.name);
    this.#byNumber.delete(topic.record.number);
  }

  addSubscription(
    record: SubscriptionRecord,
    topic: Topic,
    pendingHttp: QueueState | null,
  ): Subscription {
    const subscription = new Subscription(record, topic, pendingHttp);
    this.#order = Math.max(this.#order, record.order);
    topic.subscriptions.set(record.id, subscription);
    this.subscriptions.set(record.id, subscription);
    if (pendingHttp !== null) this.withHttp.add(subscription);
    this.#index(subscription);
    return subscription;
  }

  saveSubscription(subscription: Subscription, record: SubscriptionRecord, step: ModelStep): void {
    subscription.update(record);
    this.#index(subscription);
    const value = JSON.stringify(record);
    const document = { collection: "subscription", key: record.id, value };
    step.emit({ kind: "put-document", document }); // T1
  }

  /** Removes a subscription and its pending HTTP deliveries. */
  removeSubscription(state: BrokerState, subscription: Subscription, step: ModelStep): void {
    const { id, token } = subscription.record;
    subscription.topic.subscriptions.delete(id);
    this.subscriptions.delete(id);
    this.withHttp.delete(subscription);
    this.replaying.delete(subscription);
    if (token !== null) this.byToken.delete(token);
    if (subscription.pendingHttp !== null) state.removeQueue(subscription.pendingHttp, step.now);
    step.emit({ kind: "delete-document", collection: "subscription", key: id });
  }

  #index(subscription: Subscription): void {
    const { token, replay } = subscription.record;
    if (token !== null) this.byToken.set(token, subscription);
    if (replay !== null && ACTIVE_REPLAYS.has(replay.status)) this.replaying.add(subscription);
    else this.replaying.delete(subscription);
  }
}

/** Whether a pending subscription has expired. */
export function isStale(record: SubscriptionRecord, now: EpochMs, time: RunningTime): boolean {
  return !record.confirmed && now >= time.due(record.createdAt, SNS_CONFIRMATION_MS);
}
