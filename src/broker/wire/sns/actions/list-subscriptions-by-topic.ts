// ListSubscriptionsByTopic: the subscriptions of one topic, a hundred at a time.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { topicOf } from "../sns-request.ts";
import { listPage, subscriptionPage } from "../subscription-page.ts";

export const listSubscriptionsByTopic = action({
  name: "ListSubscriptionsByTopic",
  input: structure({ TopicArn: text, NextToken: text }),
  output: subscriptionPage,
  run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    return typeof topic === "string" ? listPage(call, topic, input.NextToken) : topic;
  },
});
