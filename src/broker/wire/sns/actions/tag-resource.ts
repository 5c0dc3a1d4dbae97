// TagResource: adds tags to a topic, or overwrites them.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";
import { readTags, tagList } from "../sns-tags.ts";

export const tagResource = action({
  name: "TagResource",
  input: structureShape({ ResourceArn: textShape, Tags: tagList }),
  output: structureShape({}),
  async run(call, input) {
    const topic = topicOf(call, input.ResourceArn, "ResourceArn");
    if (typeof topic !== "string") return topic;
    const read = readTags(input.Tags);
    if (!read.ok) return read;
    const outcome = await call.server.broker.submit("tagTopic", { topic, tags: { ...read.value } });
    return outcome.ok ? succeed({}) : outcome;
  },
});
