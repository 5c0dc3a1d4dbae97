// ListSubscriptions: the subscriptions of all topics, a hundred at a time.

import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { listPage, subscriptionPage } from "../subscription-page.ts";

export const listSubscriptions = action({
  name: "ListSubscriptions",
  input: structure({ NextToken: text }),
  output: subscriptionPage,
  run: (call, input) => listPage(call, null, input.NextToken),
});
