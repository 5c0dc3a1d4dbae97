// Subscription pages: the output of both actions that list subscriptions.

import { type Result, succeed } from "../../../core/result.ts";
import type { Fault } from "../../model/fault.ts";
import type { RequestCall } from "../protocol/call.ts";
import { members, structureShape, textShape, type ValueOf } from "../protocol/shape.ts";

/** AWS returns this text instead of the ARN of an unconfirmed subscription. */
const PENDING = "PendingConfirmation";

export const subscriptionPage = structureShape({
  Subscriptions: members(
    structureShape({
      SubscriptionArn: textShape,
      Owner: textShape,
      Protocol: textShape,
      Endpoint: textShape,
      TopicArn: textShape,
    }),
  ),
  NextToken: textShape,
});

/** A page of the subscriptions of a topic, or of all topics if `topic` is null. */
export async function listPage(
  call: RequestCall,
  topic: string | null,
  token: string | null | undefined,
): Promise<Result<ValueOf<typeof subscriptionPage>, Fault>> {
  const { broker } = call.server;
  const list = { topic, token: token || null };
  const outcome = await broker.submit("listSubscriptions", list, call.request.signal);
  if (!outcome.ok) return outcome;
  const { subscriptions, nextToken } = outcome.value;
  return succeed({
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
