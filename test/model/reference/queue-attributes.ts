// Queue attributes of the reference: creation, conflict, change and reading.

import { type Fault, type FaultName, refuse } from "../../../src/broker/model/fault.ts";
import type { OperationInput } from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import type { EpochMs } from "../../../src/core/units.ts";
import {
  arnOf,
  attributeMs,
  expire,
  isFifo,
  NAME_WAIT_MS,
  nextSerial,
  queueNamed,
  queueOfArn,
  type RefQueue,
  type RefWorld,
  redrivePolicyOf,
  stateOf,
} from "./state.ts";

const RANGES: Record<string, readonly [number, number, string]> = {
  VisibilityTimeout: [0, 43_200, "30"],
  DelaySeconds: [0, 900, "0"],
  MaximumMessageSize: [1_024, 1_048_576, "1048576"],
  MessageRetentionPeriod: [60, 1_209_600, "345600"],
  ReceiveMessageWaitTimeSeconds: [0, 20, "0"],
};
const FIFO_DEFAULTS: Record<string, string> = {
  FifoQueue: "true",
  ContentBasedDeduplication: "false",
  DeduplicationScope: "queue",
  FifoThroughputLimit: "perQueue",
};

type Refusal = { ok: false; fault: { name: FaultName; message: string } };

export function missingQueue(): Refusal {
  return refuse("QueueDoesNotExist", "The specified queue does not exist.");
}

/** Validates and normalises the given values; an empty text means "remove". */
function readAttributes(
  world: RefWorld,
  name: string,
  given: Record<string, string>,
): Refusal | { ok: true; value: Record<string, string> } {
  const fifo = name.endsWith(".fifo");
  const read: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) {
    const range = RANGES[key];
    if (range !== undefined) {
      const number = /^\d+$/.test(value) ? Number(value) : -1;
      if (number < range[0] || number > range[1]) {
        return refuse("InvalidAttributeValue", `~${key}`);
      }
      read[key] = String(number);
    } else if (key === "FifoQueue" || key === "ContentBasedDeduplication") {
      if (!fifo) return refuse("InvalidAttributeName", `Unknown Attribute ${key}.`);
      read[key] = value;
    } else if (key === "DeduplicationScope" || key === "FifoThroughputLimit") {
      read[key] = value;
    } else if (key === "RedrivePolicy") {
      const policy = readRedrivePolicy(world, name, value);
      if (policy === null) return refuse("InvalidParameterValue", "~");
      read[key] = policy;
    } else {
      return refuse("InvalidAttributeName", `Unknown Attribute ${key}.`);
    }
  }
  return { ok: true, value: read };
}

/** The canonical text, "" to remove the policy, or null if it is invalid. */
function readRedrivePolicy(world: RefWorld, name: string, text: string): string | null {
  if (text === "") return "";
  const { deadLetterTargetArn, maxReceiveCount } = JSON.parse(text) as Record<string, unknown>;
  const count = Number(maxReceiveCount);
  if (typeof deadLetterTargetArn !== "string" || !(count >= 1 && count <= 1_000)) return null;
  const target = queueOfArn(world, deadLetterTargetArn);
  const itself = deadLetterTargetArn === arnOf(world, name);
  if (target === undefined && !itself) return null;
  if (target !== undefined && isFifo(target) !== name.endsWith(".fifo")) return null;
  return JSON.stringify({ deadLetterTargetArn, maxReceiveCount: count });
}

export function createQueue(
  world: RefWorld,
  input: OperationInput<"createQueue">,
  now: EpochMs,
): Result<{ name: string }, Fault> {
  const { name } = input;
  const deletedAt = world.deleted.findLast((entry) => entry.name === name)?.at;
  if (deletedAt !== undefined && now < deletedAt + NAME_WAIT_MS) {
    return refuse(
      "QueueDeletedRecently",
      "You must wait 60 seconds after deleting a queue before you can create another " +
        "with the same name.",
    );
  }
  const read = readAttributes(world, name, input.attributes);
  if (!read.ok) return read;
  const existing = queueNamed(world, name);
  if (existing !== undefined) {
    for (const [key, value] of Object.entries(read.value)) {
      if ((existing.attributes[key] ?? "") === value) continue;
      return refuse(
        "QueueNameExists",
        `A queue already exists with the same name and a different value for attribute ${key}`,
      );
    }
    return succeed({ name });
  }
  const fifo = name.endsWith(".fifo");
  const attributes: Record<string, string> = {};
  for (const [key, [, , fallback]] of Object.entries(RANGES)) attributes[key] = fallback;
  Object.assign(attributes, fifo ? FIFO_DEFAULTS : {}, read.value);
  if (attributes.RedrivePolicy === "") delete attributes.RedrivePolicy;
  world.queues.push({
    serial: nextSerial(world),
    name,
    createdAt: now,
    modifiedAt: now,
    attributes,
    tags: { ...input.tags },
    dedupScope: attributes.DeduplicationScope ?? "queue",
    messages: [],
    dedups: [],
    attempts: [],
    purgedAt: null,
    lastSequence: "",
  });
  return succeed({ name });
}

export function setQueueAttributes(
  world: RefWorld,
  input: OperationInput<"setQueueAttributes">,
  now: EpochMs,
): Result<null, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  const read = readAttributes(world, queue.name, input.attributes);
  if (!read.ok) return read;
  if (isFifo(queue) && "FifoQueue" in read.value && read.value.FifoQueue !== "true") {
    return refuse(
      "InvalidAttributeValue",
      "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
    );
  }
  queue.attributes = { ...queue.attributes, ...read.value };
  if (queue.attributes.RedrivePolicy === "") delete queue.attributes.RedrivePolicy;
  queue.modifiedAt = now;
  if (isFifo(queue) && "DelaySeconds" in read.value) {
    // A new delay of a FIFO queue also applies to messages that were never received.
    for (const message of queue.messages) {
      if (message.receiveCount > 0) continue;
      message.dueAt = message.sentAt + attributeMs(queue, "DelaySeconds");
    }
  }
  expire(world, now);
  return succeed(null);
}

const KNOWN = [
  ...Object.keys(RANGES),
  ...Object.keys(FIFO_DEFAULTS),
  "ApproximateNumberOfMessages",
  "ApproximateNumberOfMessagesDelayed",
  "ApproximateNumberOfMessagesNotVisible",
  "CreatedTimestamp",
  "LastModifiedTimestamp",
  "QueueArn",
  "RedrivePolicy",
  "SqsManagedSseEnabled",
];

export function getQueueAttributes(
  world: RefWorld,
  input: OperationInput<"getQueueAttributes">,
  now: EpochMs,
): Result<{ attributes: Record<string, string> }, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  for (const name of input.names) {
    if (name !== "All" && !KNOWN.includes(name)) {
      return refuse("InvalidAttributeName", `Unknown Attribute ${name}.`);
    }
  }
  const inState = (state: string) =>
    String(queue.messages.filter((message) => stateOf(message, now) === state).length);
  const all: Record<string, string> = {
    ...queue.attributes,
    ApproximateNumberOfMessages: inState("visible"),
    ApproximateNumberOfMessagesDelayed: inState("delayed"),
    ApproximateNumberOfMessagesNotVisible: inState("in-flight"),
    CreatedTimestamp: String(Math.floor(queue.createdAt / 1_000)),
    LastModifiedTimestamp: String(Math.floor(queue.modifiedAt / 1_000)),
    QueueArn: arnOf(world, queue.name),
    SqsManagedSseEnabled: "true",
  };
  const wanted = input.names.includes("All") ? Object.keys(all) : input.names;
  const attributes: Record<string, string> = {};
  for (const name of wanted) if (all[name] !== undefined) attributes[name] = all[name];
  return succeed({ attributes });
}

/** Queues whose dead letters go to `target`. */
export function deadLetterSources(world: RefWorld, target: RefQueue): RefQueue[] {
  const arn = arnOf(world, target.name);
  return world.queues.filter((queue) => redrivePolicyOf(queue)?.deadLetterTargetArn === arn);
}
