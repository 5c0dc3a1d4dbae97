// UntagResource: takes tags off a topic.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { members, structure, text } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";

export const untagResource = action({
  name: "UntagResource",
  input: structure({ ResourceArn: text, TagKeys: members(text) }),
  output: structure({}),
  async run(call, input) {
    const topic = topicOf(call, input.ResourceArn, "ResourceArn");
    if (typeof topic !== "string") return topic;
    const keys = [...(input.TagKeys ?? [])];
    const outcome = await call.site.broker.submit("untagTopic", { topic, keys });
    return outcome.ok ? done({}) : outcome;
  },
});
