// ConfirmSubscription: an endpoint shows the token it was sent, and is sent messages from then on.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { structure, text } from "../../protocol/shape.ts";
import { absent, invalidParameter, isSigned } from "../sns-request.ts";

export const confirmSubscription = action({
  name: "ConfirmSubscription",
  input: structure({ TopicArn: text, Token: text, AuthenticateOnUnsubscribe: text }),
  output: structure({ SubscriptionArn: text }),
  async run(call, input) {
    const { Token: token, AuthenticateOnUnsubscribe: authenticate } = input;
    if (token === undefined || token === null) return absent("token");
    if ((input.TopicArn ?? "").split(":").length < 6) return invalidParameter("Topic");
    const outcome = await call.site.broker.submit("confirmSubscription", {
      token,
      authenticateOnUnsubscribe: authenticate?.toLowerCase() === "true",
      authenticated: isSigned(call.request),
    });
    return outcome.ok ? done({ SubscriptionArn: outcome.value.arn }) : outcome;
  },
});
