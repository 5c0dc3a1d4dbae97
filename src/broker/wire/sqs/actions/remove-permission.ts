// RemovePermission: takes a statement out of a queue's policy.

import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { structure, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const removePermission = action({
  name: "RemovePermission",
  input: structure({ QueueUrl: text, Label: text }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const label = input.Label;
    if (!label) return missing("Label");
    return call.site.broker.submit("removePermission", { queue, label });
  },
});
