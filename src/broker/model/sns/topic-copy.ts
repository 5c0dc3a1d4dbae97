// TopicCopy: puts a copy of a published message into the subscriber's queue or the dead-letter
// queue.
//   C1. A dead letter that no queue accepts is counted on its topic.
//   C2. FIFO to FIFO keeps group and deduplication id, and the queue's own window applies as well.
//       A FIFO topic gives a standard queue neither; a standard topic passes a group on.
//   C3. A replayed copy keeps its deduplication id and bypasses the queue's window; otherwise a
//       replay of the last five minutes would do nothing.

import { allowsService } from "../../../core/access/access-policy.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import type { MessageAttribute, SendEntry } from "../operations.ts";
import type { QueueState } from "../sqs/queue.ts";
import { admitMessage, keepMessage } from "../sqs/send.ts";
import type { ModelStep } from "../step.ts";
import type { SharedTexts } from "./shared-texts.ts";
import type { Subscription } from "./subscription.ts";
import type { Topic } from "./topic.ts";

/** A message that a topic has accepted. */
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
  /** What its copies share. */
  readonly shared: SharedTexts;
  /** The delay that injected faults have added so far. */
  readonly lateMs?: SendEntry["lateMs"];
}

/** A copy as a queue stores it. */
export interface Copy {
  readonly body: string;
  readonly sizeBytes: number;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly attributesText?: SendEntry["attributesText"];
  readonly unsigned: SendEntry["unsigned"];
  readonly lateMs?: SendEntry["lateMs"];
}

/** The fields of a message that a queue needs apart from the copy. */
export type CopyIds = Pick<TopicMessage, "groupId" | "dedupId" | "traceHeader" | "replayed">;

/** Puts a copy into a queue that passed all checks. */
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

/** Whether the queue's policy allows the topic; without enforcement every queue does. */
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

/** Sends a copy that its subscriber did not accept to the dead-letter queue, or counts it (C1). */
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
