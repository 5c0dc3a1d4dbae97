// RemovePermission (SNS): removes a statement from a topic's policy.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const removeTopicPermission = action({
  name: "RemovePermission",
  input: structureShape({ TopicArn: textShape, Label: textShape }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { Label: label } = input;
    if (!label) return absent("label");
    return call.server.broker.submit("removeTopicPermission", { topic, label });
  },
});
