// TopicOperations: create, change and delete topics.
//   O1. Creating a topic that exists returns the same topic, if no given attribute differs.
//   O2. Deleting a topic deletes its subscriptions; deleting a missing topic succeeds.
//   O3. A topic with an archive is not deleted: the archive must be switched off first.

import {
  SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX,
  SNS_MESSAGE_BYTES_DEFAULT,
  SNS_TOPIC_NAME_CHARACTERS_MAX,
  SNS_TOPIC_TAGS_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { epochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { Topic } from "./topic.ts";
import { mergeTopicAttributes, viewTopic } from "./topic-attributes.ts";
import { invalidTopicParameter, missingTopic } from "./topic-faults.ts";
import type { TopicOperations } from "./topic-operations-contract.ts";

type Input<K extends keyof TopicOperations> = TopicOperations[K]["input"];

const EVER = epochMs(Number.MAX_SAFE_INTEGER);
const FIFO_SUFFIX = ".fifo";

function checkName(name: string, fifo: boolean) {
  const base = fifo && name.endsWith(FIFO_SUFFIX) ? name.slice(0, -FIFO_SUFFIX.length) : name;
  const spelled = /^[A-Za-z0-9_-]+$/.test(base) && name.length <= SNS_TOPIC_NAME_CHARACTERS_MAX;
  if (fifo && !(spelled && name.endsWith(FIFO_SUFFIX))) {
    return refuse(
      "InvalidParameter",
      "Fifo Topic names must end with .fifo and must be made up of only uppercase and lowercase " +
        "ASCII letters, numbers, underscores, and hyphens, and must be between 1 and 256 " +
        "characters long.",
    );
  }
  return spelled ? null : invalidTopicParameter("Topic Name");
}

export function stepCreateTopic(
  state: BrokerState,
  step: ModelStep,
  input: Input<"createTopic">,
): Result<{ name: string }, Fault> {
  const { name, tags } = input;
  const { FifoTopic: fifoText, ...given } = input.attributes;
  const fifo = fifoText?.toLowerCase() === "true";
  const misnamed = checkName(name, fifo) ?? checkTags(tags);
  if (misnamed !== null) return misnamed;
  const merged = mergeTopicAttributes({}, fifo, given);
  if (!merged.ok) return invalidTopicParameter(`Attributes Reason: ${merged.fault}`);
  const existing = state.topics.byName.get(name);
  if (existing !== undefined) return compare(state, step, existing, merged.value, tags); // O1
  const attributes: Record<string, string> = merged.value;
  if (fifo) attributes.FifoTopic = "true";
  const record = {
    number: state.takeNumber(step),
    name,
    createdAt: step.now,
    attributes,
    tags,
    subscriptionsDeleted: 0,
    archivedSince: attributes.ArchivePolicy === undefined ? null : step.now,
  };
  state.topics.saveTopic(state.topics.addTopic(record), record, step);
  return succeed({ name });
}

function compare(
  state: BrokerState,
  step: ModelStep,
  topic: Topic,
  given: Readonly<Record<string, string>>,
  tags: Readonly<Record<string, string>>,
): Result<{ name: string }, Fault> {
  const view = viewTopic(state, topic, step.now);
  if (Object.entries(given).some(([name, value]) => view[name] !== value)) {
    return invalidTopicParameter(
      "Attributes Reason: Topic already exists with different attributes",
    );
  }
  if (Object.entries(tags).some(([key, value]) => topic.record.tags[key] !== value)) {
    return invalidTopicParameter("Tags Reason: Topic already exists with different tags");
  }
  return succeed({ name: topic.record.name });
}

export function stepDeleteTopic(
  state: BrokerState,
  step: ModelStep,
  input: Input<"deleteTopic">,
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return succeed(null); // O2
  if (topic.settings.archiveMs !== null) {
    return refuse("InvalidState", "Cannot delete a topic with an ArchivePolicy"); // O3
  }
  for (const subscription of [...topic.subscriptions.values()]) {
    state.topics.removeSubscription(state, subscription, step);
  }
  state.topics.removeTopic(topic);
  const { number } = topic.record;
  step.emit({ kind: "delete-document", collection: "topic", key: String(number) });
  step.emit({ kind: "expire-dedup", queue: number, before: EVER });
  return succeed(null);
}

export function stepGetTopicAttributes(
  state: BrokerState,
  step: ModelStep,
  input: Input<"getTopicAttributes">,
): Result<{ attributes: Record<string, string> }, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  return succeed({ attributes: viewTopic(state, topic, step.now) });
}

export function setTopicAttribute(
  state: BrokerState,
  step: ModelStep,
  input: Input<"setTopicAttribute">,
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const given = { [input.name]: input.value };
  const merged = mergeTopicAttributes(topic.record.attributes, topic.fifo, given);
  if (!merged.ok) return invalidTopicParameter(merged.fault);
  const attributes = merged.value;
  const replayed = [...topic.subscriptions.values()].some((s) => state.topics.replaying.has(s));
  if (replayed && attributes.ArchivePolicy === undefined) {
    return invalidTopicParameter("ArchivePolicy: A replay is in progress");
  }
  if (input.name === "MaximumMessageSize" && !fitsLarge(topic, Number(input.value))) {
    return invalidTopicParameter(
      "MaximumMessageSize: The topic has http endpoints or too many subscriptions for it",
    );
  }
  let { archivedSince } = topic.record;
  if (attributes.ArchivePolicy === undefined) {
    archivedSince = null;
    state.garbage.push(...topic.archive.clear());
  } else {
    archivedSince ??= step.now;
  }
  state.topics.saveTopic(topic, { ...topic.record, attributes, archivedSince }, step);
  return succeed(null);
}

/** Long messages may go to a limited number of queues, and to no HTTP endpoint. */
function fitsLarge(topic: Topic, messageBytesMax: number): boolean {
  if (messageBytesMax <= SNS_MESSAGE_BYTES_DEFAULT) return true;
  const all = [...topic.subscriptions.values()];
  const queuesOnly = all.every(({ record }) => record.protocol === "sqs");
  return queuesOnly && all.length <= SNS_LARGE_TOPIC_SUBSCRIPTIONS_MAX;
}

function checkTags(tags: Readonly<Record<string, string>>) {
  if (Object.keys(tags).length <= SNS_TOPIC_TAGS_MAX) return null;
  return refuse(
    "TagLimitExceeded",
    `Could not complete request: tag quota of per resource exceeded`,
  );
}

function missingResource() {
  return refuse("ResourceNotFound", "Resource does not exist");
}

export function tagTopic(
  state: BrokerState,
  step: ModelStep,
  input: Input<"tagTopic">,
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingResource();
  const tags = { ...topic.record.tags, ...input.tags };
  const crowded = checkTags(tags);
  if (crowded !== null) return crowded;
  state.topics.saveTopic(topic, { ...topic.record, tags }, step);
  return succeed(null);
}

export function untagTopic(
  state: BrokerState,
  step: ModelStep,
  input: Input<"untagTopic">,
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingResource();
  const remaining = Object.entries(topic.record.tags).filter(([key]) => !input.keys.includes(key));
  state.topics.saveTopic(topic, { ...topic.record, tags: Object.fromEntries(remaining) }, step);
  return succeed(null);
}

export function listTopicTags(
  state: BrokerState,
  _step: ModelStep,
  input: Input<"listTopicTags">,
): Result<{ tags: Record<string, string> }, Fault> {
  const topic = state.topics.byName.get(input.topic);
  return topic === undefined ? missingResource() : succeed({ tags: { ...topic.record.tags } });
}
