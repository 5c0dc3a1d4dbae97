// ListTagsForResource: the tags of a topic.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";
import { tagList } from "../sns-tags.ts";

export const listTagsForResource = action({
  name: "ListTagsForResource",
  input: structure({ ResourceArn: text }),
  output: structure({ Tags: tagList }),
  async run(call, input) {
    const topic = topicOf(call, input.ResourceArn, "ResourceArn");
    if (typeof topic !== "string") return topic;
    const outcome = await call.site.broker.submit("listTopicTags", { topic });
    if (!outcome.ok) return outcome;
    const tags = Object.entries(outcome.value.tags);
    return done({ Tags: tags.map(([Key, Value]) => ({ Key, Value })) });
  },
});
