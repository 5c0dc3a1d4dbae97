// Recovery: builds the broker's state from the store.
//   Y1. Everything that was committed is restored: messages with their counts and deadlines, the
//       deduplication window, numbers, attributes, tags, move tasks and receive attempts; topics
//       with their subscriptions, windows, archives, replays and pending HTTP deliveries.
//   Y2. The same store gives the same state, whenever and however often it is loaded. Only messages
//       that turned out to be damaged are left out (set-aside.ts).

import type { RunningTime } from "../../core/running-time.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { StoredDocument } from "../../ports/broker/broker-change.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import { type BrokerIdentity, BrokerState } from "../model/broker-state.ts";
import type { BucketRecord } from "../model/s3/bucket.ts";
import type { SubscriptionRecord } from "../model/sns/subscription.ts";
import { createPendingHttp } from "../model/sns/subscription-operations.ts";
import type { TopicRecord } from "../model/sns/topic.ts";
import type { SigningIdentity } from "../model/sns/topic-operations-contract.ts";
import type { MoveTask } from "../model/sqs/move-tasks/move-tasks.ts";
import type { QueueRecord } from "../model/sqs/queue.ts";
import type { ReceiveAttempt } from "../model/sqs/receive-attempt.ts";
import { CLOCK_KEY, type StoreHistory } from "./broker-time.ts";
import type { SetAside } from "./set-aside.ts";

export interface Recovered {
  readonly state: BrokerState;
  /** True if the store was empty; its secret must still be committed. */
  readonly fresh: boolean;
  /** From which the broker's time continues. */
  readonly history: StoreHistory;
}

export interface RecoveryOptions {
  /** Its secret is used only if the store has none yet. */
  readonly identity: BrokerIdentity;
  readonly time: RunningTime;
  /** Messages due later are hidden at first. */
  readonly now: EpochMs;
}

export function recover(
  store: BrokerStore,
  { identity, time, now }: RecoveryOptions,
  setAside: Pick<SetAside, "has">,
): Recovered {
  const snapshot = store.load();
  const byCollection = new Map<string, StoredDocument[]>();
  for (const document of snapshot.documents) {
    const list = byCollection.get(document.collection) ?? [];
    list.push(document);
    byCollection.set(document.collection, list);
  }
  const of = (collection: string) => byCollection.get(collection) ?? [];
  const broker = new Map(of("broker").map(({ key, value }) => [key, value]));
  const secret = broker.get("secret");
  const state = new BrokerState(
    secret === undefined
      ? identity
      : { ...identity, secret: JSON.parse(secret) as [number, number] },
    time,
  );
  state.resumeAt(snapshot.sequence, Number(broker.get("queue-number") ?? 0));
  restoreDocuments(state, of);
  let newest = 0;
  for (const entry of snapshot.dedups) {
    newest = Math.max(newest, entry.acceptedAt);
    const window = state.queueByNumber(entry.queue) ?? state.topics.topicByNumber(entry.queue);
    window?.dedup.add(Buffer.from(entry.digest, "hex"), entry.acceptedAt, entry);
  }
  for (const head of snapshot.messages) {
    newest = Math.max(newest, head.sentAt, head.receivedAt);
    if (!setAside.has(head.seq)) state.restore(head, now); // Y2
  }
  const history = {
    newest: epochMs(Math.max(newest, newestIn(state))),
    expires: newest > 0,
    stored: broker.get(CLOCK_KEY) ?? null,
  };
  return { state, fresh: secret === undefined, history };
}

function restoreDocuments(state: BrokerState, of: (collection: string) => StoredDocument[]): void {
  for (const { value } of of("queue")) state.addQueue(JSON.parse(value) as QueueRecord);
  restoreTopics(state, of);
  for (const { key, value } of of("deleted-queue")) {
    state.deletedNames.set(key, epochMs(Number(value)));
  }
  for (const { key, value } of of("bucket")) {
    state.buckets.set(key, JSON.parse(value) as BucketRecord);
  }
  const tasks = of("move-task").map(({ value }) => JSON.parse(value) as MoveTask);
  tasks.sort((a, b) => a.order - b.order);
  for (const task of tasks) state.moveTasks.put(task);
  for (const { key, value } of of("attempt")) {
    state.attempts.set(key, JSON.parse(value) as ReceiveAttempt);
  }
}

/** The latest instant outside messages, such as the purge or deletion of a queue. */
function newestIn({ queues, deletedNames, attempts, moveTasks }: BrokerState): number {
  let latest = 0;
  for (const { record } of queues.values()) {
    latest = Math.max(latest, record.modifiedAt, record.purgedAt ?? 0);
  }
  for (const at of deletedNames.values()) latest = Math.max(latest, at);
  for (const { at } of attempts.values()) latest = Math.max(latest, at);
  for (const { startedAt } of moveTasks.active()) latest = Math.max(latest, startedAt);
  return latest;
}

function restoreTopics(state: BrokerState, of: (collection: string) => StoredDocument[]): void {
  for (const { value } of of("topic")) state.topics.addTopic(JSON.parse(value) as TopicRecord);
  const records = of("subscription").map(({ value }) => JSON.parse(value) as SubscriptionRecord);
  records.sort((a, b) => a.order - b.order);
  for (const record of records) {
    const topic = state.topics.topicByNumber(record.topic);
    if (topic === undefined) continue;
    const pendingHttp = record.pendingHttp === 0 ? null : createPendingHttp(state, record);
    state.topics.addSubscription(record, topic, pendingHttp);
  }
  for (const { value } of of("signing")) {
    state.topics.signing = JSON.parse(value) as SigningIdentity;
  }
}
