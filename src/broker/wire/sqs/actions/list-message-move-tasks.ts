// ListMessageMoveTasks: returns the latest moves out of a dead-letter queue, newest first.

import { SQS_MOVE_TASKS_LISTED_MAX } from "../../../../core/limits.ts";
import { succeed } from "../../../../core/result.ts";
import type { MoveTaskView } from "../../../model/operations.ts";
import { action } from "../../protocol/call.ts";
import { checkRange, missing } from "../../protocol/parameters.ts";
import {
  integerShape,
  list,
  structureShape,
  textShape,
  type ValueOf,
} from "../../protocol/shape.ts";

const RESULTS_DEFAULT = 1;

const task = structureShape({
  TaskHandle: textShape,
  Status: textShape,
  SourceArn: textShape,
  DestinationArn: textShape,
  MaxNumberOfMessagesPerSecond: integerShape,
  ApproximateNumberOfMessagesMoved: integerShape,
  ApproximateNumberOfMessagesToMove: integerShape,
  FailureReason: textShape,
  StartedTimestamp: integerShape,
});

export const listMessageMoveTasks = action({
  name: "ListMessageMoveTasks",
  input: structureShape({ SourceArn: textShape, MaxResults: integerShape }),
  output: structureShape({ Results: list("ListMessageMoveTasksResultEntry", task) }),
  async run(call, input) {
    const { SourceArn: sourceArn, MaxResults: limit } = input;
    if (!sourceArn) return missing("SourceArn");
    const refused = checkRange(
      limit,
      "MaxResults",
      1,
      SQS_MOVE_TASKS_LISTED_MAX,
      `Must be between 1 and ${SQS_MOVE_TASKS_LISTED_MAX}, if provided.`,
    );
    if (refused !== null) return refused;
    const query = { sourceArn, limit: limit ?? RESULTS_DEFAULT };
    const outcome = await call.server.broker.submit("listMoveTasks", query);
    if (!outcome.ok) return outcome;
    const { tasks } = outcome.value;
    return succeed(tasks.length === 0 ? {} : { Results: tasks.map(showTask) });
  },
});

function showTask(view: MoveTaskView): ValueOf<typeof task> {
  return {
    // A handle only serves to cancel, so it is returned only while the task runs.
    TaskHandle: view.status === "RUNNING" ? view.handle : undefined,
    Status: view.status,
    SourceArn: view.sourceArn,
    DestinationArn: view.destinationArn ?? undefined,
    MaxNumberOfMessagesPerSecond: view.perSecondMax ?? undefined,
    ApproximateNumberOfMessagesMoved: view.moved,
    ApproximateNumberOfMessagesToMove: view.toMove,
    FailureReason: view.failureReason ?? undefined,
    StartedTimestamp: view.startedAt,
  };
}
