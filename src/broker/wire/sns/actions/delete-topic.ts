// DeleteTopic: deletes the topic and all of its subscriptions.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";

export const deleteTopic = action({
  name: "DeleteTopic",
  input: structureShape({ TopicArn: textShape }),
  output: null,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    return call.server.broker.submit("deleteTopic", { topic }, call.request.signal);
  },
});
