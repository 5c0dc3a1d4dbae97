// ListQueueTags: the tags of a queue.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { structure, tags, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const listQueueTags = action({
  name: "ListQueueTags",
  input: structure({ QueueUrl: text }),
  output: structure({ Tags: tags }),
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const outcome = await call.site.broker.submit("listQueueTags", { queue });
    if (!outcome.ok) return outcome;
    const { tags } = outcome.value;
    return done(Object.keys(tags).length === 0 ? {} : { Tags: tags });
  },
});
