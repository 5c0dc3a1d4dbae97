// Reads of the reference: lists, counts and peeks. Nothing here changes state.

import type { Fault } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationOutput,
  PeekedMessage,
  QueueCounts,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import { type EpochMs, epochMs } from "../../../src/core/units.ts";
import { deadLetterSources, missingQueue } from "./queue-attributes.ts";
import { isFifo, queueNamed, type RefQueue, type RefWorld, stateOf } from "./state.ts";

function sorted(names: string[]): string[] {
  return names.toSorted();
}

export function listQueues(
  world: RefWorld,
  input: OperationInput<"listQueues">,
): Result<OperationOutput<"listQueues">, Fault> {
  const names = world.queues.map((queue) => queue.name);
  return succeed({
    names: sorted(names.filter((name) => name.startsWith(input.prefix))),
    nextToken: null,
  });
}

export function listDeadLetterSources(
  world: RefWorld,
  input: OperationInput<"listDeadLetterSources">,
): Result<OperationOutput<"listDeadLetterSources">, Fault> {
  const target = queueNamed(world, input.queue);
  if (target === undefined) return missingQueue();
  const names = deadLetterSources(world, target).map((queue) => queue.name);
  return succeed({ names: sorted(names), nextToken: null });
}

function countsOf(queue: RefQueue, now: EpochMs): QueueCounts {
  const inState = (state: string) =>
    queue.messages.filter((message) => stateOf(message, now) === state).length;
  const sentAts = queue.messages.map((message) => message.sentAt);
  return {
    name: queue.name,
    fifo: isFifo(queue),
    visible: inState("visible"),
    delayed: inState("delayed"),
    inFlight: inState("in-flight"),
    oldestSentAt: sentAts.length === 0 ? null : epochMs(Math.min(...sentAts)),
  };
}

export function countQueues(
  world: RefWorld,
  input: OperationInput<"countQueues">,
  now: EpochMs,
): Result<OperationOutput<"countQueues">, Fault> {
  const queues = world.queues
    .filter((queue) => queue.name.startsWith(input.prefix))
    .map((queue) => countsOf(queue, now));
  return succeed({ queues: queues.toSorted((a, b) => (a.name < b.name ? -1 : 1)) });
}

export function peek(
  world: RefWorld,
  input: OperationInput<"peek">,
  now: EpochMs,
): Result<OperationOutput<"peek">, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  const rest = queue.messages.filter((message) => message.serial > input.afterSeq);
  const page = rest.slice(0, input.limit);
  const messages = page.map(
    (message): PeekedMessage => ({
      seq: message.serial,
      messageId: message.messageId,
      body: message.body,
      attributes: message.attributes,
      groupId: message.groupId,
      state: stateOf(message, now),
      sentAt: epochMs(message.sentAt),
      dueAt: epochMs(message.dueAt),
      receiveCount: message.receiveCount,
    }),
  );
  const last = page.at(-1);
  return succeed({
    messages,
    nextAfterSeq: rest.length > page.length && last !== undefined ? last.serial : null,
  });
}
