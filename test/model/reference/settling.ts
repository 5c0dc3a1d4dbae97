// Settling in the reference: deleting messages and changing their visibility, by handle.

import type { Fault } from "../../../src/broker/model/fault.ts";
import type {
  OperationInput,
  OperationOutput,
  VisibilityEntry,
} from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import type { EpochMs } from "../../../src/core/units.ts";
import { missingQueue } from "./queue-attributes.ts";
import {
  invalidValue,
  isFifo,
  queueNamed,
  type RefMessage,
  type RefQueue,
  type RefWorld,
  VISIBILITY_TOTAL_MS,
} from "./state.ts";

type Found =
  | { kind: "fault"; fault: Fault }
  | { kind: "gone" }
  | { kind: "found"; message: RefMessage; latest: boolean };

function find(world: RefWorld, queue: RefQueue, handle: string): Found {
  const existing = world.handles.find((entry) => entry.handle === handle);
  if (existing === undefined || existing.queueSerial !== queue.serial) {
    const message = `The input receipt handle "${handle}" is not a valid receipt handle.`;
    return { kind: "fault", fault: { name: "ReceiptHandleIsInvalid", message } };
  }
  const message = queue.messages.find((entry) => entry.serial === existing.messageSerial);
  if (message === undefined) return { kind: "gone" };
  return { kind: "found", message, latest: message.handle === handle };
}

/** A receive whose messages were changed cannot be repeated. */
function spoil(queue: RefQueue, handle: string | null): void {
  for (const attempt of queue.attempts) {
    if (handle !== null && attempt.handles.includes(handle)) attempt.spoiled = true;
  }
}

function deleteOne(world: RefWorld, queue: RefQueue, handle: string, now: EpochMs): Fault | null {
  const match = find(world, queue, handle);
  if (match.kind === "fault") return match.fault;
  if (match.kind === "gone") return null; // Deleting twice is fine.
  const { message, latest } = match;
  if (isFifo(queue) && (!latest || message.dueAt <= now)) {
    return {
      name: "InvalidParameterValue",
      message: invalidValue(handle, "ReceiptHandle", "The receipt handle has expired."),
    };
  }
  queue.messages = queue.messages.filter((other) => other !== message);
  spoil(queue, message.handle);
  return null;
}

function changeOne(
  world: RefWorld,
  queue: RefQueue,
  entry: VisibilityEntry,
  now: EpochMs,
): Fault | null {
  const match = find(world, queue, entry.handle);
  if (match.kind === "fault") return match.fault;
  if (match.kind === "found" && isFifo(queue) && !match.latest) {
    // AWS does not document the message for a handle that a later receive has replaced.
    const message = `~Value ${entry.handle} for parameter ReceiptHandle is invalid.`;
    return { name: "InvalidParameterValue", message };
  }
  if (match.kind === "gone") {
    return {
      name: "InvalidParameterValue",
      message: invalidValue(
        entry.handle,
        "ReceiptHandle",
        "Message does not exist or is not available for visibility timeout change.",
      ),
    };
  }
  const { message } = match;
  if (now - message.receivedAt + entry.visibilityMs > VISIBILITY_TOTAL_MS) {
    return {
      name: "InvalidParameterValue",
      message: "~Total VisibilityTimeout for the message is beyond the limit [43200 seconds]",
    };
  }
  // A change to the same time changes nothing.
  if (message.dueAt !== now + entry.visibilityMs) spoil(queue, message.handle);
  message.dueAt = now + entry.visibilityMs;
  return null;
}

export function deleteMessages(
  world: RefWorld,
  input: OperationInput<"delete">,
  now: EpochMs,
): Result<OperationOutput<"delete">, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  return succeed({ faults: input.handles.map((handle) => deleteOne(world, queue, handle, now)) });
}

export function changeVisibility(
  world: RefWorld,
  input: OperationInput<"changeVisibility">,
  now: EpochMs,
): Result<OperationOutput<"changeVisibility">, Fault> {
  const queue = queueNamed(world, input.queue);
  if (queue === undefined) return missingQueue();
  return succeed({ faults: input.entries.map((entry) => changeOne(world, queue, entry, now)) });
}
