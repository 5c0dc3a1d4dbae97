// GetSubscriptionAttributes: the settings and state of a subscription.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { entries, structure, text } from "../../protocol/shape.ts";
import { subscriptionOf } from "../sns-request.ts";

export const getSubscriptionAttributes = action({
  name: "GetSubscriptionAttributes",
  input: structure({ SubscriptionArn: text }),
  output: structure({ Attributes: entries("key", text) }),
  async run(call, input) {
    const subscription = subscriptionOf(input.SubscriptionArn);
    if (typeof subscription !== "string") return subscription;
    const { broker } = call.site;
    const outcome = await broker.submit("getSubscriptionAttributes", { subscription });
    return outcome.ok ? done({ Attributes: outcome.value.attributes }) : outcome;
  },
});
