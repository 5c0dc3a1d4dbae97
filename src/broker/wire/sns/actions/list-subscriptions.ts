// ListSubscriptions: returns the subscriptions of all topics, 100 per page.

import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { listPage, subscriptionPage } from "../subscription-page.ts";

export const listSubscriptions = action({
  name: "ListSubscriptions",
  input: structureShape({ NextToken: textShape }),
  output: subscriptionPage,
  run: (call, input) => listPage(call, null, input.NextToken),
});
