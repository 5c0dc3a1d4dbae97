// TopicCopy: a copy of a published message on its way into a queue, the subscriber's or the one for
// what the subscriber did not take.
//   C1. A dead letter that no queue takes is counted on its topic.
//   C2. FIFO to FIFO carries group and deduplication id, and the queue's own window holds as well.
//       A FIFO topic gives a standard queue neither; a standard topic passes a group on.
//   C3. A replayed copy keeps its deduplication id and passes the queue's window by, or a replay
//       of the last five minutes would do nothing.

import type { EpochMs } from "../../../core/units.ts";
import { allowsService } from "../access-policy.ts";
import type { BrokerState } from "../broker-state.ts";
import type { MessageAttribute, SendEntry } from "../operations.ts";
import type { QueueState } from "../sqs/queue.ts";
import { admitMessage, keepMessage } from "../sqs/send.ts";
import type { ModelStep } from "../step.ts";
import type { Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";

/** A message as a topic has accepted it. */
export interface TopicMessage {
  readonly id: string;
  /** Its number among all messages of the broker. */
  readonly seq: number;
  readonly publishedAt: EpochMs;
  readonly body: string;
  readonly bodies: Readonly<Record<string, string>> | null;
  readonly subject: string | null;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  readonly traceHeader: string | null;
  readonly origin: string;
  readonly replayed: boolean;
  /** How late it is already, where a fault was asked for. */
  readonly lateMs?: SendEntry["lateMs"];
}

/** What a copy looks like to a queue, the subscriber's or the one for dead letters. */
export interface Copy {
  readonly body: string;
  readonly sizeBytes: number;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly unsigned: SendEntry["unsigned"];
  readonly lateMs?: SendEntry["lateMs"];
}

/** What a queue needs to know of a message beside the copy itself. */
export type CopyIds = Pick<TopicMessage, "groupId" | "dedupId" | "traceHeader" | "replayed">;

/** Puts a copy into a queue that was found fit for it. */
export function putCopy(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  queue: QueueState,
  message: CopyIds,
  copy: Copy,
): void {
  state.advance(queue, step);
  const keepsGroup = queue.fifo || !topic.fifo; // C2
  const entry: SendEntry = {
    ...copy,
    traceHeader: message.traceHeader,
    groupId: keepsGroup ? message.groupId : null,
    dedupId: queue.fifo ? message.dedupId : null,
    delayMs: null,
  };
  if (!message.replayed) admitMessage(state, step, queue, entry);
  else keepMessage(state, step, queue, entry, step.now, entry.dedupId); // C3
}

/** Whether the queue's policy lets the topic in; without enforcement every queue does. */
export function mayDeliver(state: BrokerState, topic: Topic, queue: QueueState): boolean {
  if (state.identity.enforcePolicies !== true) return true;
  return allowsService(queue.record.attributes.Policy, {
    service: "sns.amazonaws.com",
    action: "sqs:SendMessage",
    resource: state.arnOf(queue.record.name),
    sourceArn: state.topicArnOf(topic.record.name),
    sourceAccount: state.identity.account,
  });
}

/** A copy that its subscriber did not take goes to the dead-letter queue, or is counted (C1). */
export function putDeadLetter(
  state: BrokerState,
  step: ModelStep,
  subscription: Subscription,
  message: CopyIds,
  copy: Copy,
): void {
  const { topic, settings } = subscription;
  const queue =
    settings.deadLetterArn === null ? undefined : state.queueByArn(settings.deadLetterArn);
  const fits = queue !== undefined && (!queue.fifo || message.groupId !== null);
  if (!fits || !mayDeliver(state, topic, queue)) {
    topic.dropped += 1;
    return;
  }
  putCopy(state, step, topic, queue, message, copy);
}
