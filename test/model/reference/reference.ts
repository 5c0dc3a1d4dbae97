// The reference: one function from (world, operation, time, choices) to the response.

import { type Fault, refuse } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationName,
  OperationOutput,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import type { EpochMs } from "../../../src/core/units.ts";
import type { Choices } from "./choices.ts";
import { countQueues, listDeadLetterSources, listQueues, peek } from "./looking.ts";
import { listMoveTasks, startMoveTask } from "./moving.ts";
import {
  createQueue,
  getQueueAttributes,
  missingQueue,
  setQueueAttributes,
} from "./queue-attributes.ts";
import { receive } from "./receiving.ts";
import { send } from "./sending.ts";
import { changeVisibility, deleteMessages } from "./settling.ts";
import { expire, PURGE_WAIT_MS, queueNamed, type RefQueue, type RefWorld } from "./state.ts";

type Step<K extends OperationName> = (
  world: RefWorld,
  input: OperationInput<K>,
  now: EpochMs,
  choices: Choices,
) => Result<OperationOutput<K>, Fault>;

function onQueue<T>(
  world: RefWorld,
  name: string,
  work: (queue: RefQueue) => Result<T, Fault>,
): Result<T, Fault> {
  const queue = queueNamed(world, name);
  return queue === undefined ? missingQueue() : work(queue);
}

const STEPS: { [K in OperationName]?: Step<K> } = {
  createQueue,
  setQueueAttributes,
  getQueueAttributes,
  deleteQueue: (world, input, now) =>
    onQueue(world, input.queue, (queue) => {
      world.queues = world.queues.filter((other) => other !== queue);
      world.deleted.push({ name: queue.name, at: now });
      return succeed(null);
    }),
  findQueue: (world, input) =>
    onQueue(world, input.queue, (queue) => succeed({ name: queue.name })),
  listQueues,
  purgeQueue: (world, input, now) =>
    onQueue(world, input.queue, (queue) => {
      if (queue.purgedAt !== null && now < queue.purgedAt + PURGE_WAIT_MS) {
        return refuse(
          "PurgeQueueInProgress",
          `Only one PurgeQueue operation on ${queue.name} is allowed every 60 seconds.`,
        );
      }
      queue.messages = [];
      queue.dedups = [];
      queue.purgedAt = now;
      return succeed(null);
    }),
  tagQueue: (world, input) =>
    onQueue(world, input.queue, (queue) => {
      queue.tags = { ...queue.tags, ...input.tags };
      return succeed(null);
    }),
  untagQueue: (world, input) =>
    onQueue(world, input.queue, (queue) => {
      for (const key of input.keys) delete queue.tags[key];
      return succeed(null);
    }),
  listQueueTags: (world, input) =>
    onQueue(world, input.queue, (queue) => succeed({ tags: { ...queue.tags } })),
  send,
  receive,
  delete: deleteMessages,
  changeVisibility,
  listDeadLetterSources,
  startMoveTask,
  listMoveTasks,
  cancelMoveTask: () =>
    refuse("InvalidParameterValue", "Value for parameter TaskHandle is invalid."),
  countQueues,
  peek,
};

/** Runs one operation at `now`; `choices` decides what AWS leaves open. */
export function step<K extends OperationName>(
  world: RefWorld,
  name: K,
  input: OperationInput<K>,
  now: EpochMs,
  choices: Choices,
): Result<OperationOutput<K>, Fault> {
  const run = STEPS[name] as Step<K> | undefined;
  if (run === undefined) throw new Error(`the reference has no ${name}`);
  expire(world, now);
  return run(world, input, now, choices);
}
