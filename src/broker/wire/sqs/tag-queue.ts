// TagQueue: adds tags to a queue; one it has already is overwritten.

import { action } from "../call.ts";
import { checkTags, missing } from "../parameters.ts";
import { queueOf } from "../queue-url.ts";
import { structure, tags, text } from "../shape.ts";

export const tagQueue = action({
  name: "TagQueue",
  input: structure({ QueueUrl: text, Tags: tags }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const tags = input.Tags;
    if (!tags) return missing("Tags");
    const refused = checkTags(tags);
    if (refused !== null) return refused;
    return call.site.broker.submit("tagQueue", { queue, tags });
  },
});
