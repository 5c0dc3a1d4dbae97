// CancelMessageMoveTask: stops a move task; messages already moved stay moved.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { integerShape, structureShape, textShape } from "../../protocol/shape.ts";

export const cancelMessageMoveTask = action({
  name: "CancelMessageMoveTask",
  input: structureShape({ TaskHandle: textShape }),
  output: structureShape({ ApproximateNumberOfMessagesMoved: integerShape }),
  async run(call, input) {
    const handle = input.TaskHandle;
    if (!handle) return missing("TaskHandle");
    const { broker } = call.server;
    const outcome = await broker.submit("cancelMoveTask", { handle });
    return outcome.ok
      ? succeed({ ApproximateNumberOfMessagesMoved: outcome.value.moved })
      : outcome;
  },
});
