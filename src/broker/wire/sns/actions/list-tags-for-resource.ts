// ListTagsForResource: returns the tags of a topic.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";
import { tagList } from "../sns-tags.ts";

export const listTagsForResource = action({
  name: "ListTagsForResource",
  input: structureShape({ ResourceArn: textShape }),
  output: structureShape({ Tags: tagList }),
  async run(call, input) {
    const topic = topicOf(call, input.ResourceArn, "ResourceArn");
    if (typeof topic !== "string") return topic;
    const outcome = await call.server.broker.submit("listTopicTags", { topic });
    if (!outcome.ok) return outcome;
    const tags = Object.entries(outcome.value.tags);
    return succeed({ Tags: tags.map(([Key, Value]) => ({ Key, Value })) });
  },
});
