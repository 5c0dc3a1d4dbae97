// QueueOperations: create, change, purge and delete queues.
//   O1. Creating a queue that exists returns the same queue, if no given attribute differs.
//   O2. Deleting or purging takes effect immediately: the messages never appear again, not even
//       after a restart. Their bytes are erased later.

import {
  SQS_PURGE_INTERVAL_MS,
  SQS_QUEUE_NAME_CHARACTERS_MAX,
  SQS_QUEUE_TAGS_MAX,
} from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import { addMs, type EpochMs, epochMs } from "../../../core/units.ts";
import { lowerBooleans } from "../boolean-attributes.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { OperationInput } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { settingsView } from "./attribute-view.ts";
import { forgetTask } from "./move-tasks/move-task.ts";
import type { QueueState } from "./queue.ts";
import {
  BOOLEAN_ATTRIBUTES,
  isForgotten,
  mergeAttributes,
  readAttribute,
} from "./queue-attributes.ts";
import { missingQueue } from "./queue-faults.ts";
import { queueSettingsOf } from "./queue-settings.ts";
import { repeatsRedrivePolicy } from "./redrive-policy.ts";
import { SlotState } from "./schedule/message-slab.ts";

const FIFO_SUFFIX = ".fifo";
const EVER = epochMs(Number.MAX_SAFE_INTEGER);

function checkName(name: string, fifo: boolean) {
  const base = fifo && name.endsWith(FIFO_SUFFIX) ? name.slice(0, -FIFO_SUFFIX.length) : name;
  const spelled = /^[A-Za-z0-9_-]+$/.test(base) && name.length <= SQS_QUEUE_NAME_CHARACTERS_MAX;
  if (fifo && !(spelled && name.endsWith(FIFO_SUFFIX))) {
    return refuse(
      "InvalidParameterValue",
      "The name of a FIFO queue can only include alphanumeric characters, hyphens, or " +
        "underscores, must end with .fifo suffix and be 1 to 80 in length.",
    );
  }
  if (spelled) return null;
  return refuse(
    "InvalidParameterValue",
    "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
  );
}

export function stepCreateQueue(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"createQueue">,
): Result<{ name: string }, Fault> {
  const { name, tags } = input;
  const attributes = lowerBooleans(input.attributes, BOOLEAN_ATTRIBUTES);
  const fifo = attributes.FifoQueue === "true";
  const misnamed = checkName(name, fifo);
  if (misnamed !== null) return misnamed;
  const existing = state.queues.get(name);
  if (existing !== undefined) return compare(state, existing, attributes); // O1
  const merged = mergeAttributes(state, { name, fifo, current: null }, attributes);
  if (!merged.ok) return merged;
  if (state.isDeletedRecently(name, step.now)) {
    return refuse(
      "QueueDeletedRecently",
      "You must wait 60 seconds after deleting a queue before you can create another with the " +
        "same name.",
    );
  }
  const crowded = checkTags(name, tags);
  if (crowded !== null) return crowded;
  const record = {
    number: state.nextQueueNumber(),
    name,
    createdAt: step.now,
    modifiedAt: step.now,
    attributes: merged.value,
    tags,
    dedupPerGroup: merged.value.DeduplicationScope === "messageGroup",
    purgedAt: null,
    purgedThrough: state.sequence,
    delayedThrough: 0,
  };
  state.saveRecord(state.addQueue(record), record, step);
  step.emit({
    kind: "put-document",
    document: { collection: "broker", key: "queue-number", value: String(record.number) },
  });
  return succeed({ name });
}

/** Compares each value with the one that the queue has: repeating a value is always valid (O1). */
function compare(
  state: BrokerState,
  queue: QueueState,
  given: Readonly<Record<string, string>>,
): Result<{ name: string }, Fault> {
  const { record, fifo } = queue;
  const target = { name: record.name, fifo, current: record.attributes };
  const current = settingsView(queue);
  let differs: string | null = null;
  for (const [name, value] of Object.entries(given)) {
    // Its dead-letter queue may be deleted by now; only a new policy must name an existing one.
    if (name === "RedrivePolicy" && repeatsRedrivePolicy(value, current[name])) continue;
    const read = readAttribute(state, target, name, value);
    if (!read.ok) return read;
    if (read.value !== (current[name] ?? "") && !isForgotten(record.attributes, name))
      differs ??= name;
  }
  if (differs === null) return succeed({ name: record.name });
  return refuse(
    "QueueNameExists",
    `A queue already exists with the same name and a different value for attribute ${differs}`,
  );
}

export function stepDeleteQueue(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string },
): Result<null, Fault> {
  const queue = state.queues.get(input.queue);
  if (queue === undefined) return missingQueue();
  const { number, name } = queue.record;
  state.removeQueue(queue, step.now);
  state.deletedNames.set(name, step.now);
  for (const task of state.moveTasks.ofSource(state.arnOf(name))) forgetTask(state, step, task);
  step.emit({ kind: "delete-document", collection: "queue", key: String(number) });
  const document = { collection: "deleted-queue", key: name, value: String(step.now) };
  step.emit({ kind: "put-document", document });
  step.emit({ kind: "expire-dedup", queue: number, before: EVER });
  return succeed(null);
}

export function findQueue(
  state: BrokerState,
  _step: ModelStep,
  input: { queue: string },
): Result<{ name: string }, Fault> {
  return state.queues.has(input.queue) ? succeed({ name: input.queue }) : missingQueue();
}

export function stepSetQueueAttributes(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"setQueueAttributes">,
): Result<null, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const { record, fifo } = queue;
  const target = { name: record.name, fifo, current: record.attributes };
  const merged = mergeAttributes(
    state,
    target,
    lowerBooleans(input.attributes, BOOLEAN_ATTRIBUTES),
  );
  if (!merged.ok) return merged;
  const changed = { ...record, attributes: merged.value, modifiedAt: step.now };
  const redelays = fifo && queueSettingsOf(changed.attributes).delayMs !== queue.settings.delayMs;
  const delayedThrough = redelays ? state.sequence : record.delayedThrough;
  state.saveRecord(queue, { ...changed, delayedThrough }, step);
  if (redelays) applyDelay(state, step, queue);
  return succeed(null);
}

/**
 * The new delay applies to FIFO messages that already wait; the record says so (Q5 of queue.ts).
 */
function applyDelay(state: BrokerState, step: ModelStep, queue: QueueState): void {
  const { slab } = state;
  for (let index = 0; index < queue.total; index += 1) {
    const slot = queue.ages.at(index);
    if (slab.receiveCount.get(slot) > 0) continue;
    const dueAt = addMs(slab.sentAt.get(slot) as EpochMs, queue.settings.delayMs);
    if (dueAt > step.now) {
      queue.hide(slot, SlotState.delayed, dueAt, step.now);
    } else {
      slab.dueAt.set(slot, dueAt);
      if (slab.state.get(slot) === SlotState.delayed) queue.release(slot, step.now);
    }
  }
}

export function stepPurgeQueue(
  state: BrokerState,
  step: ModelStep,
  input: { queue: string },
): Result<null, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const { record } = queue;
  if (record.purgedAt !== null && step.now < addMs(record.purgedAt, SQS_PURGE_INTERVAL_MS)) {
    return refuse(
      "PurgeQueueInProgress",
      `Only one PurgeQueue operation on ${record.name} is allowed every 60 seconds.`,
    );
  }
  state.discardMessages(queue, step.now); // O2
  queue.dedup.clear();
  step.emit({ kind: "expire-dedup", queue: record.number, before: EVER });
  state.saveRecord(queue, { ...record, purgedAt: step.now, purgedThrough: state.sequence }, step);
  return succeed(null);
}

function checkTags(name: string, tags: Readonly<Record<string, string>>) {
  if (Object.keys(tags).length <= SQS_QUEUE_TAGS_MAX) return null;
  return refuse("InvalidParameterValue", `Too many tags added for queue ${name}.`);
}

export function stepTagQueue(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"tagQueue">,
): Result<null, Fault> {
  const queue = state.queues.get(input.queue);
  if (queue === undefined) return missingQueue();
  const tags = { ...queue.record.tags, ...input.tags };
  const crowded = checkTags(input.queue, tags);
  if (crowded !== null) return crowded;
  state.saveRecord(queue, { ...queue.record, tags }, step);
  return succeed(null);
}

export function stepUntagQueue(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"untagQueue">,
): Result<null, Fault> {
  const queue = state.queues.get(input.queue);
  if (queue === undefined) return missingQueue();
  const remaining = Object.entries(queue.record.tags).filter(([key]) => !input.keys.includes(key));
  state.saveRecord(queue, { ...queue.record, tags: Object.fromEntries(remaining) }, step);
  return succeed(null);
}

export function stepListQueueTags(
  state: BrokerState,
  _step: ModelStep,
  input: { queue: string },
): Result<{ tags: Record<string, string> }, Fault> {
  const queue = state.queues.get(input.queue);
  return queue === undefined ? missingQueue() : succeed({ tags: { ...queue.record.tags } });
}
