// Subscription pages: what both listings of subscriptions tell.

import { done, type Outcome } from "../../model/fault.ts";
import type { Call } from "../protocol/call.ts";
import { members, structure, text, type ValueOf } from "../protocol/shape.ts";

/** What stands for the ARN of a subscription that has yet to be confirmed. */
const PENDING = "PendingConfirmation";

export const subscriptionPage = structure({
  Subscriptions: members(
    structure({
      SubscriptionArn: text,
      Owner: text,
      Protocol: text,
      Endpoint: text,
      TopicArn: text,
    }),
  ),
  NextToken: text,
});

/** A page of the subscriptions of a topic, or of all topics if it is null. */
export async function listPage(
  call: Call,
  topic: string | null,
  token: string | null | undefined,
): Promise<Outcome<ValueOf<typeof subscriptionPage>>> {
  const { broker } = call.site;
  const list = { topic, token: token || null };
  const outcome = await broker.submit("listSubscriptions", list, call.request.signal);
  if (!outcome.ok) return outcome;
  const { subscriptions, nextToken } = outcome.value;
  return done({
    Subscriptions: subscriptions.map(({ arn, pending, topicArn, protocol, endpoint }) => ({
      SubscriptionArn: pending ? PENDING : arn,
      Owner: broker.account,
      Protocol: protocol,
      Endpoint: endpoint,
      TopicArn: topicArn,
    })),
    NextToken: nextToken,
  });
}
