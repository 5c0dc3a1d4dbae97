// ListQueueTags: returns the tags of a queue.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, tags, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const listQueueTags = action({
  name: "ListQueueTags",
  input: structureShape({ QueueUrl: textShape }),
  output: structureShape({ Tags: tags }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const outcome = await call.server.broker.submit("listQueueTags", { queue });
    if (!outcome.ok) return outcome;
    const { tags } = outcome.value;
    return succeed(Object.keys(tags).length === 0 ? {} : { Tags: tags });
  },
});
