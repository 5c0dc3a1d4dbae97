// MoveTaskOperations: start, list and cancel move tasks, with AWS's refusals.

import { SQS_MOVE_MESSAGES_PER_SECOND_MAX } from "../../../../core/limits.ts";
import { type Result, succeed } from "../../../../core/result.ts";
import type { BrokerState } from "../../broker-state.ts";
import { type Fault, refuse } from "../../fault.ts";
import type { MoveTaskView, OperationInput } from "../../operations.ts";
import type { ModelStep } from "../../step.ts";
import { forgetTask, saveTask } from "./move-task.ts";
import { isActive } from "./move-tasks.ts";

/** How many finished tasks of a source queue can still be listed. */
const TASKS_KEPT_MAX = 10;

function missingResource(parameter: string) {
  const text = `The resource that you specified for the ${parameter} parameter doesn't exist.`;
  return refuse("ResourceNotFound", text);
}

function invalid(message: string) {
  return refuse("InvalidParameterValue", message);
}

export function startMoveTask(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"startMoveTask">,
): Result<{ handle: string }, Fault> {
  const { sourceArn, destinationArn, perSecondMax } = input;
  const source = state.queueByArn(sourceArn);
  if (source === undefined) return missingResource("SourceArn");
  const collects = [...state.queues.values()].some(
    (queue) => queue.settings.redrive?.targetArn === sourceArn,
  );
  if (!collects) return invalid("Source queue must be configured as a Dead Letter Queue.");
  const destination = destinationArn === null ? source : state.queueByArn(destinationArn);
  if (destination === undefined) return missingResource("DestinationArn");
  if (destination.fifo !== source.fifo) {
    return invalid("Source and destination queue must be of the same type.");
  }
  const fast = perSecondMax !== null && perSecondMax > SQS_MOVE_MESSAGES_PER_SECOND_MAX;
  if (fast || (perSecondMax !== null && perSecondMax < 1)) {
    return invalid(
      `Value ${perSecondMax} for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: ` +
        `You must enter a value that's between 1 and ${SQS_MOVE_MESSAGES_PER_SECOND_MAX}.`,
    );
  }
  const earlier = state.moveTasks.ofSource(sourceArn);
  if (earlier.some(isActive)) {
    return invalid(
      "There is already a task running. Only one active task is allowed for a source queue arn " +
        "at a given time.",
    );
  }
  state.advance(source, step);
  for (const task of earlier.slice(TASKS_KEPT_MAX - 1)) forgetTask(state, step, task);
  const id = step.newId();
  saveTask(state, step, {
    id,
    order: state.nextSeq(),
    sourceArn,
    destinationArn,
    perSecondMax,
    startedAt: step.now,
    toMove: source.visible,
    status: "RUNNING",
    moved: 0,
    nextAt: step.now,
    failureReason: null,
  });
  return succeed({ handle: handleOf(id, sourceArn) });
}

export function listMoveTasks(
  state: BrokerState,
  _step: ModelStep,
  input: OperationInput<"listMoveTasks">,
): Result<{ tasks: MoveTaskView[] }, Fault> {
  if (state.queueByArn(input.sourceArn) === undefined) return missingResource("SourceArn");
  const tasks = state.moveTasks.ofSource(input.sourceArn).slice(0, input.limit);
  return succeed({
    tasks: tasks.map(({ id, order: _order, nextAt: _nextAt, ...task }) => ({
      handle: handleOf(id, task.sourceArn),
      ...task,
    })),
  });
}

export function cancelMoveTask(
  state: BrokerState,
  step: ModelStep,
  input: { handle: string },
): Result<{ moved: number }, Fault> {
  const named = parseHandle(input.handle);
  if (named === null) return invalid("Value for parameter TaskHandle is invalid.");
  if (state.queueByArn(named.sourceArn) === undefined) return missingResource("SourceArn");
  const task = state.moveTasks.get(named.taskId);
  // The right to cancel was decided for the queue in the handle, so the task must be of that queue.
  if (task?.sourceArn !== named.sourceArn) {
    return refuse("ResourceNotFound", "Task does not exist.");
  }
  if (task.status !== "RUNNING") {
    return invalid("Only active tasks can be cancelled.");
  }
  saveTask(state, step, { ...task, status: "CANCELLING" });
  return succeed({ moved: task.moved });
}

function handleOf(taskId: string, sourceArn: string): string {
  return Buffer.from(JSON.stringify({ taskId, sourceArn })).toString("base64");
}

function parseHandle(text: string): { taskId: string; sourceArn: string } | null {
  try {
    const value = JSON.parse(Buffer.from(text, "base64").toString()) as Record<string, unknown>;
    const { taskId, sourceArn } = value;
    const valid = typeof taskId === "string" && typeof sourceArn === "string";
    return valid ? { taskId, sourceArn } : null;
  } catch {
    return null;
  }
}
