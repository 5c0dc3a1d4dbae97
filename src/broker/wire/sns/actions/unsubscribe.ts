// Unsubscribe: stops deliveries to an endpoint.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { isSigned } from "../../protocol/signature.ts";
import { subscriptionOf } from "../sns-request.ts";

export const unsubscribe = action({
  name: "Unsubscribe",
  input: structureShape({ SubscriptionArn: textShape }),
  output: null,
  run(call, input) {
    const subscription = subscriptionOf(input.SubscriptionArn);
    if (typeof subscription !== "string") return subscription;
    const authenticated = isSigned(call.request);
    return call.server.broker.submit("unsubscribe", { subscription, authenticated });
  },
});
