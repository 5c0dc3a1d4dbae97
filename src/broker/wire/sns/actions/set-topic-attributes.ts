// SetTopicAttributes: changes one setting of a topic.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const setTopicAttributes = action({
  name: "SetTopicAttributes",
  input: structure({ TopicArn: text, AttributeName: text, AttributeValue: text }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const name = input.AttributeName;
    if (name === undefined || name === null) return absent("attributeName");
    const set = { topic, name, value: input.AttributeValue ?? "" };
    return call.site.broker.submit("setTopicAttribute", set, call.request.signal);
  },
});
