// SetSubscriptionAttributes: changes one setting of a subscription.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { absent, subscriptionOf } from "../sns-request.ts";

export const setSubscriptionAttributes = action({
  name: "SetSubscriptionAttributes",
  input: structureShape({
    SubscriptionArn: textShape,
    AttributeName: textShape,
    AttributeValue: textShape,
  }),
  output: null,
  run(call, input) {
    const subscription = subscriptionOf(input.SubscriptionArn);
    if (typeof subscription !== "string") return subscription;
    const name = input.AttributeName;
    if (name === undefined || name === null) return absent("attributeName");
    const set = { subscription, name, value: input.AttributeValue ?? "" };
    return call.server.broker.submit("setSubscriptionAttribute", set);
  },
});
