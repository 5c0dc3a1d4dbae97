// GetSubscriptionAttributes: returns the settings and the state of a subscription.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { entries, structureShape, textShape } from "../../protocol/shape.ts";
import { subscriptionOf } from "../sns-request.ts";

export const getSubscriptionAttributes = action({
  name: "GetSubscriptionAttributes",
  input: structureShape({ SubscriptionArn: textShape }),
  output: structureShape({ Attributes: entries("key", textShape) }),
  async run(call, input) {
    const subscription = subscriptionOf(input.SubscriptionArn);
    if (typeof subscription !== "string") return subscription;
    const { broker } = call.server;
    const outcome = await broker.submit("getSubscriptionAttributes", { subscription });
    return outcome.ok ? succeed({ Attributes: outcome.value.attributes }) : outcome;
  },
});
