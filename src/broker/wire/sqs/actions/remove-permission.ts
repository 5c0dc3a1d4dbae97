// RemovePermission: removes a statement from a queue's policy.

import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const removePermission = action({
  name: "RemovePermission",
  input: structureShape({ QueueUrl: textShape, Label: textShape }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const label = input.Label;
    if (!label) return missing("Label");
    return call.server.broker.submit("removePermission", { queue, label });
  },
});
