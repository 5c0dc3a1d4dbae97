// SetTopicAttributes: changes one setting of a topic.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const setTopicAttributes = action({
  name: "SetTopicAttributes",
  input: structureShape({
    TopicArn: textShape,
    AttributeName: textShape,
    AttributeValue: textShape,
  }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const name = input.AttributeName;
    if (name === undefined || name === null) return absent("attributeName");
    const set = { topic, name, value: input.AttributeValue ?? "" };
    return call.server.broker.submit("setTopicAttribute", set, call.request.signal);
  },
});
