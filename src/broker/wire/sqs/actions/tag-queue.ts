// TagQueue: adds tags to a queue and overwrites existing ones.

import { action } from "../../protocol/call.ts";
import { checkTags, missing } from "../../protocol/parameters.ts";
import { structureShape, tags, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const tagQueue = action({
  name: "TagQueue",
  input: structureShape({ QueueUrl: textShape, Tags: tags }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const tags = input.Tags;
    if (!tags) return missing("Tags");
    const refused = checkTags(tags);
    if (refused !== null) return refused;
    return call.server.broker.submit("tagQueue", { queue, tags });
  },
});
