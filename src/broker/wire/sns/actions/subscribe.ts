// Subscribe: delivers the messages of a topic to one more endpoint.

import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { booleanShape, entries, structureShape, textShape } from "../../protocol/shape.ts";
import { origin } from "../../sqs/queue-url.ts";
import { absent, invalidSnsParameter, topicOf } from "../sns-request.ts";

const PENDING = "pending confirmation";
/** AWS supports these; this server cannot deliver to them, and refuses instead of dropping. */
const NOT_DELIVERED = new Set(["application", "email", "email-json", "firehose", "lambda", "sms"]);

export const subscribe = action({
  name: "Subscribe",
  input: structureShape({
    TopicArn: textShape,
    Protocol: textShape,
    Endpoint: textShape,
    Attributes: entries("key", textShape),
    ReturnSubscriptionArn: booleanShape,
  }),
  output: structureShape({ SubscriptionArn: textShape }),
  async run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { Protocol: protocol, Endpoint: endpoint } = input;
    if (!protocol) return absent("protocol");
    if (NOT_DELIVERED.has(protocol)) {
      return invalidSnsParameter(`Protocol Reason: this server does not deliver to ${protocol}`);
    }
    if (!endpoint) return invalidSnsParameter("Endpoint");
    const outcome = await call.server.broker.submit("subscribe", {
      topic,
      protocol,
      endpoint,
      attributes: { ...input.Attributes },
      origin: origin(call),
    });
    if (!outcome.ok) return outcome;
    const { arn, pending } = outcome.value;
    const shown = pending && input.ReturnSubscriptionArn !== true ? PENDING : arn;
    return succeed({ SubscriptionArn: shown });
  },
});
