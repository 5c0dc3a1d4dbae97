// CancelMessageMoveTask: stops a move; what it moved stays moved.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { integer, structure, text } from "../../protocol/shape.ts";

export const cancelMessageMoveTask = action({
  name: "CancelMessageMoveTask",
  input: structure({ TaskHandle: text }),
  output: structure({ ApproximateNumberOfMessagesMoved: integer }),
  async run(call, input) {
    const handle = input.TaskHandle;
    if (!handle) return missing("TaskHandle");
    const { broker } = call.site;
    const outcome = await broker.submit("cancelMoveTask", { handle });
    return outcome.ok ? done({ ApproximateNumberOfMessagesMoved: outcome.value.moved }) : outcome;
  },
});
