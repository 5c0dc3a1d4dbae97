// Injection: runs an action of SQS or SNS with injected faults.
//   I1. A request that names no queue and no topic (ListQueues) is never affected.

import type { Result } from "../../../core/result.ts";
import type { HttpReply } from "../../../ports/http/http.ts";
import { dropResponse, injectedRefusal, runUnderFaults } from "../../engine/request-faults.ts";
import type { Fault } from "../../model/fault.ts";
import type { Action, ActionAnswer, RequestCall } from "../protocol/call.ts";

/** Tells the listener to close the connection without a response. */
export const NO_ANSWER: HttpReply = { status: 500, headers: [], body: "", dropped: true };

type Input = Readonly<Record<string, unknown>>;

/** Runs an action; without faults, nothing else. */
export function runAction(
  service: "queue" | "topic" | null,
  call: RequestCall,
  action: Action,
  input: object,
): ActionAnswer<object | null> {
  const { faults } = call.server.broker;
  if (!faults.active || service === null) return action.run(call, input);
  const name = service === "queue" ? queueNamed(input as Input) : topicNamed(input as Input);
  if (name === null) return action.run(call, input); // I1
  const target = { service, name, actions: [action.name] };
  return runUnderFaults<Result<object | null, Fault>>(
    faults,
    target,
    () => action.run(call, input),
    { refused: injectedRefusal, dropped: dropResponse },
  );
}

function queueNamed(input: Input): string | null {
  const url = textAt(input, "QueueUrl");
  if (url !== null) return lastStep(url.split("?")[0] ?? "", "/");
  const arn = textAt(input, "SourceArn");
  return arn === null ? textAt(input, "QueueName") : lastStep(arn, ":");
}

const ARN_FIELDS = ["TopicArn", "TargetArn", "ResourceArn", "SubscriptionArn"];
/** Position of the topic's name in its ARN, and in those of its subscriptions. */
const NAME_ELEMENT = 5;

function topicNamed(input: Input): string | null {
  for (const field of ARN_FIELDS) {
    const arn = textAt(input, field);
    if (arn !== null) return arn.split(":")[NAME_ELEMENT] ?? null;
  }
  return textAt(input, "Name");
}

function textAt(input: Input, field: string): string | null {
  const value = input[field];
  return typeof value === "string" && value !== "" ? value : null;
}

function lastStep(text: string, separator: string): string | null {
  return text.slice(text.lastIndexOf(separator) + 1) || null;
}
