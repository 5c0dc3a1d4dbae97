// RemovePermission (of SNS): takes a statement out of a topic's policy.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { absent, topicOf } from "../sns-request.ts";

export const removeTopicPermission = action({
  name: "RemovePermission",
  input: structure({ TopicArn: text, Label: text }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { Label: label } = input;
    if (!label) return absent("label");
    return call.site.broker.submit("removeTopicPermission", { topic, label });
  },
});
