// Unsubscribe: sends nothing more to an endpoint.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { isSigned, subscriptionOf } from "../sns-request.ts";

export const unsubscribe = action({
  name: "Unsubscribe",
  input: structure({ SubscriptionArn: text }),
  output: null,
  run(call, input) {
    const subscription = subscriptionOf(input.SubscriptionArn);
    if (typeof subscription !== "string") return subscription;
    const authenticated = isSigned(call.request);
    return call.site.broker.submit("unsubscribe", { subscription, authenticated });
  },
});
