// ListSubscriptionsByTopic: returns the subscriptions of one topic, 100 per page.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";
import { listPage, subscriptionPage } from "../subscription-page.ts";

export const listSubscriptionsByTopic = action({
  name: "ListSubscriptionsByTopic",
  input: structureShape({ TopicArn: textShape, NextToken: textShape }),
  output: subscriptionPage,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    return typeof topic === "string" ? listPage(call, topic, input.NextToken) : topic;
  },
});
