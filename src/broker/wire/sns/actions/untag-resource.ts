// UntagResource: removes tags from a topic.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { members, structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";

export const untagResource = action({
  name: "UntagResource",
  input: structureShape({ ResourceArn: textShape, TagKeys: members(textShape) }),
  output: structureShape({}),
  async run(call, input) {
    const topic = topicOf(call, input.ResourceArn, "ResourceArn");
    if (typeof topic !== "string") return topic;
    const keys = [...(input.TagKeys ?? [])];
    const outcome = await call.server.broker.submit("untagTopic", { topic, keys });
    return outcome.ok ? succeed({}) : outcome;
  },
});
