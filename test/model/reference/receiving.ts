// Receiving in the reference: which messages are delivered, and which become dead letters.
//   V1. A group delivers its messages in order up to the first that is in flight or delayed. The
//       messages of the same receive do not block each other.
//   V2. A message that was received maxReceiveCount times from this queue is moved, not returned,
//       by the receive that would pick it. The reported count continues in the next queue; the
//       compared count restarts there, even if it is the same queue.
//   V4. An attempt can be repeated while its messages are hidden by it, for five minutes at most.
//   V3. A receive ends when it has `max` messages or no candidate is left.

import { type Fault, refuse } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationOutput,
  ReceivedCopy,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import { type EpochMs, epochMs } from "../../../src/core/units.ts";
import { type Choices, Illegal } from "./choices.ts";
import { missingQueue } from "./queue-attributes.ts";
import {
  arnOf,
  attributeMs,
  expire,
  invalidValue,
  isFifo,
  nextSerial,
  queueNamed,
  queueOfArn,
  type RefAttempt,
  type RefMessage,
  type RefQueue,
  type RefWorld,
  redrivePolicyOf,
} from "./state.ts";

/** The messages that a receive may take next, after those in `seen`. */
export function candidatesOf(
  queue: RefQueue,
  now: EpochMs,
  visited: ReadonlySet<number>,
): RefMessage[] {
  if (!isFifo(queue)) {
    return queue.messages.filter((message) => message.dueAt <= now && !visited.has(message.serial));
  }
  const candidates: RefMessage[] = [];
  const closed = new Set<string | null>();
  for (const message of queue.messages) {
    if (closed.has(message.groupId) || visited.has(message.serial)) continue;
    closed.add(message.groupId); // V1: the first one that is left speaks for its group.
    if (message.dueAt <= now) candidates.push(message);
  }
  return candidates;
}

export function isExhausted(queue: RefQueue, message: RefMessage): boolean {
  const policy = redrivePolicyOf(queue);
  if (policy === null) return false;
  return message.receiveCount - message.arrivalCount >= policy.maxReceiveCount; // V2
}

function moveToDeadLetters(
  world: RefWorld,
  queue: RefQueue,
  message: RefMessage,
  now: EpochMs,
  choices: Choices,
): void {
  const policy = redrivePolicyOf(queue);
  const target = queueOfArn(world, policy?.deadLetterTargetArn ?? "");
  if (target === undefined) throw new Illegal("the dead-letter queue is gone; do not test this");
  const fifo = isFifo(target);
  const moved: RefMessage = {
    ...message,
    serial: nextSerial(world),
    dedupId: fifo ? message.messageId : message.dedupId,
    sequenceNumber: fifo ? choices.deadLettered(target) : null,
    // Retention counts from the first send on standard queues, and restarts on FIFO queues.
    sentAt: fifo ? now : message.sentAt,
    dueAt: now,
    arrivalCount: message.receiveCount,
    sourceArn: arnOf(world, queue.name),
    handle: null,
  };
  queue.messages = queue.messages.filter((other) => other !== message);
  target.messages.push(moved);
  expire(world, now);
}

export function deliveryOf(
  message: RefMessage,
  handle: string,
  sequenceNumber: string | null,
): ReceivedCopy {
  return {
    messageId: message.messageId,
    receiptHandle: handle,
    body: message.body,
    attributes: message.attributes,
    traceHeader: message.traceHeader,
    groupId: message.groupId,
    dedupId: message.dedupId,
    sequenceNumber,
    sentAt: epochMs(message.sentAt),
    firstReceivedAt: epochMs(message.firstReceivedAt),
    receiveCount: message.receiveCount,
    sourceArn: message.sourceArn,
  };
}

function deliver(
  world: RefWorld,
  queue: RefQueue,
  message: RefMessage,
  index: number,
  visibilityMs: number,
  now: EpochMs,
  choices: Choices,
): ReceivedCopy {
  message.receiveCount += 1;
  message.receivedAt = now;
  if (message.firstReceivedAt === 0) message.firstReceivedAt = now;
  message.dueAt = now + visibilityMs;
  const chosen = choices.delivered(message, index);
  message.sequenceNumber = chosen.sequenceNumber;
  message.dedupId = chosen.dedupId;
  message.handle = chosen.receiptHandle;
  world.handles.push({
    handle: chosen.receiptHandle,
    queueSerial: queue.serial,
    messageSerial: message.serial,
  });
  return deliveryOf(message, chosen.receiptHandle, chosen.sequenceNumber);
}

/** Takes all available messages; a waiting receive tries again after every change. */
export function takeNow(
  world: RefWorld,
  queue: RefQueue,
  input: OperationInput<"receive">,
  now: EpochMs,
  choices: Choices,
): ReceivedCopy[] {
  const visibilityMs = input.visibilityMs ?? attributeMs(queue, "VisibilityTimeout");
  const deliveries: ReceivedCopy[] = [];
  const visited = new Set<number>();
  for (;;) {
    const candidates = candidatesOf(queue, now, visited);
    if (deliveries.length >= input.max || candidates.length === 0) return deliveries; // V3
    const message = choices.pick(queue, candidates, deliveries.length);
    if (message === null) throw new Illegal("the receive ended although messages were deliverable");
    visited.add(message.serial);
    if (isExhausted(queue, message)) {
      moveToDeadLetters(world, queue, message, now, choices); // V2
    } else {
      const at = deliveries.length;
      deliveries.push(deliver(world, queue, message, at, visibilityMs, now, choices));
    }
  }
}

/** Repeats the response and hides its messages again. */
function repeat(
  queue: RefQueue,
  attempt: RefAttempt,
  input: OperationInput<"receive">,
  now: EpochMs,
): Result<OperationOutput<"receive">, Fault> {
  const messages = attempt.handles.map((handle) =>
    queue.messages.find((message) => message.handle === handle),
  );
  if (attempt.spoiled || messages.includes(undefined)) {
    return refuse(
      "InvalidParameterValue",
      invalidValue(
        attempt.id,
        "ReceiveRequestAttemptId",
        "The receiveRequestAttemptId is not valid anymore since the receive call is not retryable.",
      ),
    );
  }
  const visibilityMs = input.visibilityMs ?? attributeMs(queue, "VisibilityTimeout");
  const deliveries: ReceivedCopy[] = [];
  attempt.hiddenUntil = now + visibilityMs;
  for (const message of messages) {
    if (message === undefined) continue;
    message.dueAt = now + visibilityMs;
    deliveries.push(deliveryOf(message, message.handle ?? "", message.sequenceNumber));
  }
  return succeed({ deliveries });
}

export function receive(
  world: RefWorld,
  input: OperationInput<"receive">,
  now: EpochMs,
  choices: Choices,
): Result<OperationOutput<"receive">, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  if (input.attemptId !== null && !isFifo(queue)) {
    return refuse("InvalidParameterValue", "~not valid for this queue type");
  }
  // V4: `expire` has dropped expired attempts.
  const previous = queue.attempts.find((attempt) => attempt.id === input.attemptId);
  if (previous !== undefined) return repeat(queue, previous, input, now);
  const deliveries = takeNow(world, queue, input, now, choices);
  if (input.attemptId !== null && deliveries.length > 0) {
    const handles = deliveries.map((delivery) => delivery.receiptHandle);
    const hiddenUntil = now + (input.visibilityMs ?? attributeMs(queue, "VisibilityTimeout"));
    queue.attempts.push({ id: input.attemptId, at: now, handles, hiddenUntil, spoiled: false });
  }
  return succeed({ deliveries });
}
