// DeleteQueue: the queue and all that is in it.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const deleteQueue = action({
  name: "DeleteQueue",
  input: structure({ QueueUrl: text }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    return call.site.broker.submit("deleteQueue", { queue });
  },
});
