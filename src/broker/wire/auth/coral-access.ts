// Coral access: which rights an action of SQS or SNS needs, and how the services refuse.
//   A1. A batch needs the right of the single action.
//   A2. Some actions of SQS are never open to other accounts, whatever the policy of a queue says.
//   A3. A resource that the action will refuse anyway needs no right: nothing happens to it.

import type { AccessContext } from "../../../core/access/access-policy.ts";
import { isObject } from "../../../core/is-object.ts";
import { type Fault, refuse } from "../../model/fault.ts";
import type { Action, RefusedAction, RequestCall } from "../protocol/call.ts";
import { queueOf } from "../sqs/queue-url.ts";
import { missingRight, type Right, refusalText } from "./authorize.ts";
import { coralFaultOf } from "./coral-faults.ts";

type Input = Readonly<Record<string, unknown>>;

/** The refusal of a caller who lacks a right, or null. */
export function refuseAction(
  call: RequestCall,
  service: string,
  action: Action,
  input: object,
): RefusedAction | null {
  if (call.server.authority === null || service === "sts") return null;
  // Only what the action reads; a request may have more fields.
  const fields = Object.entries(input as Input).filter(([name]) => name in action.input.fields);
  const read = Object.fromEntries(fields);
  const rights =
    service === "sqs" ? sqsRights(call, action, read) : snsRights(call, action.name, read);
  const refused = missingRight(call, rights);
  if (refused === null) return null;
  const { region } = call.server.broker;
  if (call.caller.account === "") {
    const fault = coralFaultOf({ kind: "anonymous" }, { service, region });
    return refuse(fault.name, fault.message);
  }
  const code: Fault["name"] = service === "sqs" ? "AccessDenied" : "AuthorizationError";
  const { action: needed } = refused.right;
  const shown = service === "sqs" ? needed.toLowerCase() : needed.replace("sns:", "SNS:");
  return refuse(code, refusalText(call.caller, refused, shown));
}

/** Whether an action of SQS is closed to other accounts, whatever the policy of a queue says. */
export function isOwnerOnly(action: string): boolean {
  return OWNER_ONLY.has(action);
}

const OWNER_ONLY = new Set(
  (
    "AddPermission CancelMessageMoveTask CreateQueue DeleteQueue ListMessageMoveTasks ListQueues " +
    "ListQueueTags RemovePermission SetQueueAttributes StartMessageMoveTask TagQueue UntagQueue"
  ).split(" "),
);

function sqsRights(call: RequestCall, { name, input: shape }: Action, input: Input): Right[] {
  const single = name.replace(/Batch$/, ""); // A1
  const isShared = call.caller.account === call.server.broker.account || !isOwnerOnly(name);
  const rightOn = (queue: string, action = single): Right => ({
    action: `sqs:${action}`,
    resource: queueArn(call, queue),
    policyOf: isShared ? { kind: "queue", name: queue } : null, // A2
    context: tagContext(input.tags ?? input.Tags, input.TagKeys),
  });
  if (name === "StartMessageMoveTask") {
    const source = lastElement(input.SourceArn);
    const target = lastElement(input.DestinationArn);
    const receives = ["ReceiveMessage", "DeleteMessage"].map((each) => rightOn(source, each));
    const sends = target === "" ? [] : [rightOn(target, "SendMessage")];
    return [rightOn(source), ...receives, ...sends];
  }
  if (name === "ListMessageMoveTasks") return [rightOn(lastElement(input.SourceArn))];
  if (name === "CancelMessageMoveTask") return [rightOn(sourceOf(input.TaskHandle))];
  if (!("QueueUrl" in shape.fields)) return [rightOn(textOf(input.QueueName))];
  const queue = queueOf(call, textOf(input.QueueUrl));
  return typeof queue === "string" ? [rightOn(queue)] : []; // A3
}

function queueArn(call: RequestCall, queue: string): string {
  const { region, account } = call.server.broker;
  return `arn:aws:sqs:${region}:${account}:${queue}`;
}

/** The name of the source queue in the handle of a task, as the handle has it. */
function sourceOf(handle: unknown): string {
  try {
    const task: unknown = JSON.parse(Buffer.from(textOf(handle), "base64").toString());
    return isObject(task) ? lastElement(task.sourceArn) : "";
  } catch {
    return "";
  }
}

function snsRights(call: RequestCall, name: string, input: Input): Right[] {
  const { region, account } = call.server.broker;
  const given = ["TopicArn", "TargetArn", "ResourceArn", "SubscriptionArn"]
    .map((field) => textOf(input[field]))
    .find((arn) => arn !== "");
  const subscription = textOf(input.SubscriptionArn).split(":").slice(6).join(":");
  // What a subscription belongs to is not what its ARN says, but what the broker knows.
  const owner =
    subscription === "" ? undefined : call.server.broker.topicOfSubscription(subscription);
  const topic = owner ?? given?.split(":").slice(5).join(":") ?? textOf(input.Name);
  const owned = `arn:aws:sns:${region}:${account}:${topic === "" ? "*" : topic}`;
  return [
    {
      action: `sns:${name.replace(/Batch$/, "")}`, // A1
      resource: owned,
      policyOf: topic === "" ? null : { kind: "topic", name: topic },
      context: {
        ...tagContext(input.Tags, input.TagKeys),
        ...(name === "Subscribe" && {
          "sns:protocol": textOf(input.Protocol),
          "sns:endpoint": textOf(input.Endpoint),
        }),
      },
    },
  ];
}

/** The keys of the tags of a request: a list of pairs, or names with values. */
function tagContext(tags: unknown, names: unknown): AccessContext {
  const listed = Array.isArray(tags)
    ? tags.map((tag: Input) => [textOf(tag.Key), textOf(tag.Value)] as const)
    : Object.entries((tags ?? {}) as Readonly<Record<string, string>>);
  const keys = [...listed.map(([key]) => key), ...(Array.isArray(names) ? names.map(String) : [])];
  if (keys.length === 0) return {};
  const values = listed.map(([key, value]) => [`aws:requesttag/${key.toLowerCase()}`, value]);
  return { ...Object.fromEntries(values), "aws:tagkeys": keys };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function lastElement(arn: unknown): string {
  const text = textOf(arn);
  return text.slice(text.lastIndexOf(":") + 1);
}
