// ConfirmSubscription: an endpoint returns the token it received, and gets messages from then on.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { structureShape, textShape } from "../../protocol/shape.ts";
import { isSigned } from "../../protocol/signature.ts";
import { absent, invalidSnsParameter } from "../sns-request.ts";

export const confirmSubscription = action({
  name: "ConfirmSubscription",
  input: structureShape({
    TopicArn: textShape,
    Token: textShape,
    AuthenticateOnUnsubscribe: textShape,
  }),
  output: structureShape({ SubscriptionArn: textShape }),
  async run(call, input) {
    const { Token: token, AuthenticateOnUnsubscribe: authenticate } = input;
    if (token === undefined || token === null) return absent("token");
    if ((input.TopicArn ?? "").split(":").length < 6) return invalidSnsParameter("Topic");
    const outcome = await call.server.broker.submit("confirmSubscription", {
      token,
      authenticateOnUnsubscribe: authenticate?.toLowerCase() === "true",
      authenticated: isSigned(call.request),
    });
    return outcome.ok ? succeed({ SubscriptionArn: outcome.value.arn }) : outcome;
  },
});
