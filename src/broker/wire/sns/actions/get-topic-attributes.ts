// GetTopicAttributes: returns the settings and the counts of a topic.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { entries, structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";

export const getTopicAttributes = action({
  name: "GetTopicAttributes",
  input: structureShape({ TopicArn: textShape }),
  output: structureShape({ Attributes: entries("key", textShape) }),
  async run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { broker } = call.server;
    const outcome = await broker.submit("getTopicAttributes", { topic }, call.request.signal);
    return outcome.ok ? succeed({ Attributes: outcome.value.attributes }) : outcome;
  },
});
