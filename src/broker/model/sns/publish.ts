// Publish: a message to a topic becomes a copy for every matching subscription.
//   P1. Deduplication, sequence number, archive and all copies into queues and pending HTTP
//       deliveries are changes of one step, hence of one commit: a crash leaves all of them or
//       none.
//   P2. Steps run one after the other, so every queue gets the messages of a group in the same
//       order.
//   P3. A FIFO topic keeps a deduplication id for five minutes, whatever happens to the copies; a
//       duplicate gets the result of the original and is not sent.

import { sha256Hex } from "../../../core/encoding/hash.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import { dedupDigest } from "../sqs/dedup-window.ts";
import { formatDetail, parseDetail } from "../sqs/message-detail.ts";
import { formatSequenceNumber } from "../sqs/sequence-number.ts";
import type { ModelStep } from "../step.ts";
import { SharedTexts } from "./shared-texts.ts";
import { deliverCopy } from "./subscriber-delivery.ts";
import type { Topic } from "./topic.ts";
import type { TopicMessage } from "./topic-copy.ts";
import { invalidTopicParameter, missingTopic } from "./topic-faults.ts";
import { advanceTopic } from "./topic-housekeeping.ts";
import type { PublishEntry, PublishedMessage, PublishInput } from "./topic-operations-contract.ts";

export function stepPublish(
  state: BrokerState,
  step: ModelStep,
  input: PublishInput,
): Result<{ results: Result<PublishedMessage, Fault>[] }, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const refused = checkIds(topic, input) ?? checkSizes(topic, input);
  if (refused !== null) return refused;
  const { origin, traceHeader, lateMs } = input;
  return succeed({
    results: input.entries.map((entry) =>
      succeed(publishEntry(state, step, topic, entry, { origin, traceHeader, lateMs })),
    ),
  });
}

function checkIds(topic: Topic, input: PublishInput) {
  for (const { groupId, dedupId } of input.entries) {
    if (!topic.fifo && dedupId !== null) {
      return invalidTopicParameter(
        "MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter " +
          "that is not valid for this topic type",
      );
    }
    if (!topic.fifo) continue;
    if (groupId === null) {
      return invalidTopicParameter("The MessageGroupId parameter is required for FIFO topics");
    }
    if (dedupId === null && !topic.settings.contentBasedDedup) {
      return invalidTopicParameter(
        "The topic should either have ContentBasedDeduplication enabled or " +
          "MessageDeduplicationId provided explicitly",
      );
    }
  }
  return null;
}

function checkSizes(topic: Topic, input: PublishInput) {
  const totalBytes = input.entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (totalBytes <= topic.settings.messageBytesMax) return null;
  if (!input.batch) return invalidTopicParameter("Message too long");
  return refuse(
    "BatchRequestTooLong",
    "The length of all the messages put together is more than the limit.",
  );
}

/** The context of a published message. */
interface PublishContext {
  readonly origin: string;
  readonly traceHeader: string | null;
  readonly lateMs: PublishInput["lateMs"];
}

/** Accepts one message that passed all checks, and sends its copies (P1). */
export function publishEntry(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  entry: PublishEntry,
  context: PublishContext,
): PublishedMessage {
  if (!topic.fifo) {
    const message = accept(state, step, entry, null, context);
    sendCopies(state, step, topic, message);
    return { messageId: message.id, sequenceNumber: null };
  }
  advanceTopic(state, topic, step);
  const dedupId = entry.dedupId ?? sha256Hex(entry.body);
  const digest = dedupDigest(topic.settings.dedupPerGroup ? entry.groupId : null, dedupId);
  const original = topic.dedup.find(digest);
  if (original !== null) return answerFor(original.messageId, original.seq); // P3
  const message = accept(state, step, entry, dedupId, context);
  topic.dedup.add(digest, step.now, { messageId: message.id, seq: message.seq });
  step.emit({
    kind: "put-dedup",
    entry: {
      queue: topic.record.number,
      digest: digest.toString("hex"),
      acceptedAt: step.now,
      messageId: message.id,
      seq: message.seq,
    },
  });
  if (topic.settings.archiveMs !== null) archive(step, topic, message);
  sendCopies(state, step, topic, message);
  return answerFor(message.id, message.seq);
}

function answerFor(messageId: string, seq: number): PublishedMessage {
  return { messageId, sequenceNumber: formatSequenceNumber(seq) };
}

function accept(
  state: BrokerState,
  step: ModelStep,
  entry: PublishEntry,
  dedupId: string | null,
  context: PublishContext,
): TopicMessage {
  const { body, bodies, subject, attributes, groupId } = entry;
  return {
    id: step.newId(),
    seq: dedupId === null ? 0 : state.nextSeq(),
    publishedAt: step.now,
    body,
    bodies,
    subject,
    attributes,
    groupId,
    dedupId,
    ...context,
    replayed: false,
    shared: new SharedTexts(),
  };
}

function sendCopies(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  message: TopicMessage,
): void {
  for (const subscription of topic.subscriptions.values()) {
    // A running replay reaches this message by itself, in order.
    const waits = state.topics.replaying.has(subscription);
    if (subscription.record.confirmed && !waits) deliverCopy(state, step, subscription, message);
  }
}

function archive(step: ModelStep, topic: Topic, message: TopicMessage): void {
  const { id, seq, body, bodies, subject, origin, attributes, traceHeader, dedupId } = message;
  topic.archive.add(seq, step.now);
  step.emit({
    kind: "put-message",
    head: {
      seq,
      queue: topic.record.number,
      sentAt: step.now,
      dueAt: step.now,
      receivedAt: epochMs(0),
      firstReceivedAt: epochMs(0),
      receiveCount: 0,
      group: null,
      arrivalCount: 0,
    },
    content: {
      id,
      body: JSON.stringify({ body, bodies, subject, origin, groupId: message.groupId }),
      detail: formatDetail({ attributes, traceHeader, dedupId, sourceArn: null }),
    },
  });
}

/** A message from the archive, as it was published. */
export function readArchived(
  step: ModelStep,
  entry: { seq: number; at: TopicMessage["publishedAt"] },
  replayed: boolean,
): TopicMessage {
  const content = step.read(entry.seq);
  const { attributes, traceHeader, dedupId } = parseDetail(content.detail);
  const archived = JSON.parse(content.body) as Pick<
    TopicMessage,
    "body" | "bodies" | "subject" | "origin" | "groupId"
  >;
  const { id } = content;
  const { seq, at: publishedAt } = entry;
  const details = { attributes, traceHeader, dedupId, replayed };
  return { ...archived, id, seq, publishedAt, ...details, shared: new SharedTexts() };
}
