// PurgeQueue: deletes all messages of a queue, at most once a minute.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const purgeQueue = action({
  name: "PurgeQueue",
  input: structureShape({ QueueUrl: textShape }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    return call.server.broker.submit("purgeQueue", { queue });
  },
});
