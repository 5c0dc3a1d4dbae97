// UntagQueue: removes tags from a queue and ignores tags that it does not have.

import { action } from "../../protocol/call.ts";
import { missing } from "../../protocol/parameters.ts";
import { list, structureShape, textShape } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const untagQueue = action({
  name: "UntagQueue",
  input: structureShape({ QueueUrl: textShape, TagKeys: list("TagKey", textShape) }),
  output: null,
  run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    if (!input.TagKeys) return missing("TagKeys");
    const untag = { queue, keys: [...input.TagKeys] };
    return call.server.broker.submit("untagQueue", untag);
  },
});
