// PurgeQueue: empties a queue, at most once a minute.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const purgeQueue = action({
  name: "PurgeQueue",
  input: structure({ QueueUrl: text }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    return call.site.broker.submit("purgeQueue", { queue });
  },
});
