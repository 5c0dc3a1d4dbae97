// DeleteQueue: deletes the queue and all of its messages.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const deleteQueue = action({
  name: "DeleteQueue",
  input: structureShape({ QueueUrl: textShape }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    return call.server.broker.submit("deleteQueue", { queue });
  },
});
