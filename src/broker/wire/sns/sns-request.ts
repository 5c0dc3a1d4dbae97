// SNS requests: what the actions of SNS share. ARNs end here: behind it, a topic is its name and a
// subscription its id.
//   R1. An ARN of another region is a wrong parameter; one of another account is a topic that does
//       not exist, since there is no other account.

import type { HttpRequest } from "../../../ports/http.ts";
import { refuse } from "../../model/fault.ts";
import type { Call, Refusal } from "../protocol/call.ts";

type Given<T> = T | null | undefined;

const ARN_ELEMENTS = 6;

export function invalidParameter(reason: string): Refusal {
  return refuse("InvalidParameter", `Invalid parameter: ${reason}`);
}

/** What AWS says of a required parameter that is not there. */
export function absent(path: string): Refusal {
  return refuse(
    "ValidationError",
    `1 validation error detected: Value null at '${path}' failed to satisfy constraint: ` +
      "Member must not be null",
  );
}

/** The name of the topic that an ARN means, or the refusal to answer. */
export function topicOf(call: Call, arn: Given<string>, parameter = "TopicArn"): string | Refusal {
  const elements = (arn ?? "").split(":");
  if (elements.length < ARN_ELEMENTS) return badArn(parameter, elements.length);
  const { broker } = call.site;
  if (elements[3] !== broker.region) return invalidParameter(parameter); // R1
  const foreign = elements[4] !== broker.account || elements[2] !== "sns";
  return foreign ? refuse("NotFound", "Topic does not exist") : elements.slice(5).join(":");
}

/** The id of the subscription that an ARN means, or the refusal to answer. */
export function subscriptionOf(arn: Given<string>): string | Refusal {
  if (arn === undefined || arn === null) {
    return invalidParameter("SubscriptionArn Reason: no value for required parameter");
  }
  const elements = arn.split(":");
  if (elements.length < ARN_ELEMENTS) return badArn("SubscriptionArn", elements.length);
  if (elements.length === ARN_ELEMENTS) return invalidParameter("SubscriptionId");
  return elements.slice(ARN_ELEMENTS).join(":");
}

export function topicArn(call: Call, name: string): string {
  const { region, account } = call.site.broker;
  return `arn:aws:sns:${region}:${account}:${name}`;
}

/** Whether the caller signed its request, which links in a mail or a notification do not. */
export function isSigned({ headers, query }: HttpRequest): boolean {
  return headers.authorization !== undefined || query.includes("X-Amz-Signature=");
}

function badArn(parameter: string, count: number): Refusal {
  return invalidParameter(
    `${parameter} Reason: An ARN must have at least ${ARN_ELEMENTS} elements, not ${count}`,
  );
}
