// GetTopicAttributes: the settings and counts of a topic.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { entries, structure, text } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";

export const getTopicAttributes = action({
  name: "GetTopicAttributes",
  input: structure({ TopicArn: text }),
  output: structure({ Attributes: entries("key", text) }),
  async run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { broker } = call.site;
    const outcome = await broker.submit("getTopicAttributes", { topic }, call.request.signal);
    return outcome.ok ? done({ Attributes: outcome.value.attributes }) : outcome;
  },
});
