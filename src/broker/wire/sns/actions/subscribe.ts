// Subscribe: sends what a topic is told to one more endpoint.

import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { boolean, entries, structure, text } from "../../protocol/shape.ts";
import { origin } from "../../sqs/queue-url.ts";
import { absent, invalidParameter, topicOf } from "../sns-request.ts";

const PENDING = "pending confirmation";
/** AWS knows these; there is nothing here to deliver them to, and saying so beats silence. */
const NOT_DELIVERED = new Set(["application", "email", "email-json", "firehose", "lambda", "sms"]);

export const subscribe = action({
  name: "Subscribe",
  input: structure({
    TopicArn: text,
    Protocol: text,
    Endpoint: text,
    Attributes: entries("key", text),
    ReturnSubscriptionArn: boolean,
  }),
  output: structure({ SubscriptionArn: text }),
  async run(call, input) {
    const topic = topicOf(call, input.TopicArn);
    if (typeof topic !== "string") return topic;
    const { Protocol: protocol, Endpoint: endpoint } = input;
    if (!protocol) return absent("protocol");
    if (NOT_DELIVERED.has(protocol)) {
      return invalidParameter(`Protocol Reason: this server does not deliver to ${protocol}`);
    }
    if (!endpoint) return invalidParameter("Endpoint");
    const outcome = await call.site.broker.submit("subscribe", {
      topic,
      protocol,
      endpoint,
      attributes: { ...input.Attributes },
      origin: origin(call),
    });
    if (!outcome.ok) return outcome;
    const { arn, pending } = outcome.value;
    const told = pending && input.ReturnSubscriptionArn !== true ? PENDING : arn;
    return done({ SubscriptionArn: told });
  },
});
