// SetQueueAttributes: changes settings of a queue; either all of them or none.

import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { queueAttributes, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const setQueueAttributes = action({
  name: "SetQueueAttributes",
  input: structureShape({ QueueUrl: textShape, Attributes: queueAttributes }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const attributes = input.Attributes;
    if (!attributes) return missing("Attributes");
    return call.server.broker.submit("setQueueAttributes", { queue, attributes });
  },
});
