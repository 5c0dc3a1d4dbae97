// Move tasks of the reference, without a rate limit: one step starts a task, another runs it.
//   M1. A redriven message is a new message: new id, sent now, never received, without a source.
//       Its deduplication id on a FIFO queue is not documented.
//   M2. Without a destination, each message returns to the queue it came from.

import { type Fault, refuse } from "../../../src/broker/model/fault.ts";
import type { OperationInput, OperationOutput } from "../../../src/broker/model/operations.ts";
import { type Result, succeed } from "../../../src/core/result.ts";
import { epochMs } from "../../../src/core/units.ts";
import { type Choices, Illegal } from "./choices.ts";
import { deadLetterSources } from "./queue-attributes.ts";
import { isFifo, nextSerial, queueOfArn, type RefTask, type RefWorld } from "./state.ts";

const NO_SOURCE = "The resource that you specified for the SourceArn parameter doesn't exist.";

export function startMoveTask(
  world: RefWorld,
  input: OperationInput<"startMoveTask">,
  now: number,
  choices: Choices,
): Result<OperationOutput<"startMoveTask">, Fault> {
  const source = queueOfArn(world, input.sourceArn);
  if (source === undefined) return refuse("ResourceNotFound", NO_SOURCE);
  if (deadLetterSources(world, source).length === 0) {
    return refuse(
      "InvalidParameterValue",
      "Source queue must be configured as a Dead Letter Queue.",
    );
  }
  const target = input.destinationArn === null ? source : queueOfArn(world, input.destinationArn);
  if (target === undefined) return refuse("ResourceNotFound", "~");
  if (isFifo(target) !== isFifo(source)) return refuse("InvalidParameterValue", "~");
  const handle = choices.taskStarted();
  world.tasks.push({
    handle,
    status: "RUNNING",
    sourceArn: input.sourceArn,
    destinationArn: input.destinationArn,
    moved: 0,
    startedAt: now,
  });
  return succeed({ handle });
}

/** Moves every message of the source; the caller ensures that none is in flight or delayed. */
export function runMoveTask(world: RefWorld, task: RefTask, choices: Choices): void {
  const source = queueOfArn(world, task.sourceArn);
  if (source === undefined) throw new Illegal("the source of a running task is gone");
  for (const message of [...source.messages]) {
    const target = queueOfArn(world, task.destinationArn ?? message.sourceArn ?? "");
    if (target === undefined) throw new Illegal("a message has nowhere to go back to"); // M2
    const fresh = choices.redriven(message, target);
    source.messages = source.messages.filter((other) => other !== message);
    target.messages.push({
      ...message,
      serial: nextSerial(world),
      messageId: fresh.messageId,
      dedupId: null,
      sequenceNumber: fresh.sequenceNumber,
      sentAt: fresh.sentAt,
      dueAt: fresh.sentAt,
      receivedAt: 0,
      firstReceivedAt: 0,
      receiveCount: 0,
      arrivalCount: 0,
      sourceArn: null,
      handle: null,
    }); // M1
    task.moved += 1;
  }
  task.status = "COMPLETED";
}

export function listMoveTasks(
  world: RefWorld,
  input: OperationInput<"listMoveTasks">,
): Result<OperationOutput<"listMoveTasks">, Fault> {
  if (queueOfArn(world, input.sourceArn) === undefined) {
    return refuse("ResourceNotFound", NO_SOURCE);
  }
  const tasks = world.tasks.filter((task) => task.sourceArn === input.sourceArn).toReversed();
  return succeed({
    tasks: tasks.slice(0, input.limit).map((task) => ({
      handle: task.handle,
      status: task.status,
      sourceArn: task.sourceArn,
      destinationArn: task.destinationArn,
      perSecondMax: null,
      moved: task.moved,
      toMove: task.moved,
      failureReason: null,
      startedAt: epochMs(task.startedAt),
    })),
  });
}
