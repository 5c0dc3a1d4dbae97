// SNS requests: parsing that the SNS actions share. ARNs stop here: in the broker, a topic is its
// name and a subscription its id.
//   R1. An ARN of another region is an invalid parameter; one of another account is a topic that
//       does not exist, because there is only one account.

import { refuse } from "../../model/fault.ts";
import type { RefusedAction, RequestCall } from "../protocol/call.ts";

type Given<T> = T | null | undefined;

const ARN_ELEMENTS = 6;

export function invalidSnsParameter(reason: string): RefusedAction {
  return refuse("InvalidParameter", `Invalid parameter: ${reason}`);
}

/** AWS's error for a missing required parameter. */
export function absent(path: string): RefusedAction {
  return refuse(
    "ValidationError",
    `1 validation error detected: Value null at '${path}' failed to satisfy constraint: ` +
      "Member must not be null",
  );
}

/** The name of the topic in an ARN, or the refusal to return. */
export function topicOf(
  call: RequestCall,
  arn: Given<string>,
  parameter = "TopicArn",
): string | RefusedAction {
  const elements = (arn ?? "").split(":");
  if (elements.length < ARN_ELEMENTS) return badArn(parameter, elements.length);
  const { broker } = call.server;
  if (elements[3] !== broker.region) return invalidSnsParameter(parameter); // R1
  const foreign = elements[4] !== broker.account || elements[2] !== "sns";
  return foreign ? refuse("NotFound", "Topic does not exist") : elements.slice(5).join(":");
}

/** The id of the subscription in an ARN, or the refusal to return. */
export function subscriptionOf(arn: Given<string>): string | RefusedAction {
  if (arn === undefined || arn === null) {
    return invalidSnsParameter("SubscriptionArn Reason: no value for required parameter");
  }
  const elements = arn.split(":");
  if (elements.length < ARN_ELEMENTS) return badArn("SubscriptionArn", elements.length);
  if (elements.length === ARN_ELEMENTS) return invalidSnsParameter("SubscriptionId");
  return elements.slice(ARN_ELEMENTS).join(":");
}

export function topicArnOf(call: RequestCall, name: string): string {
  const { region, account } = call.server.broker;
  return `arn:aws:sns:${region}:${account}:${name}`;
}

function badArn(parameter: string, count: number): RefusedAction {
  return invalidSnsParameter(
    `${parameter} Reason: An ARN must have at least ${ARN_ELEMENTS} elements, not ${count}`,
  );
}
