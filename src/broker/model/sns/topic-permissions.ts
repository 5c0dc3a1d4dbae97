// TopicPermissions: AddPermission and RemovePermission edit the statements of the topic's policy.
// Everything else that the owner wrote there stays.

import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { Topic } from "./topic.ts";
import { defaultTopicPolicy } from "./topic-attributes.ts";
import { invalidTopicParameter, missingTopic } from "./topic-faults.ts";
import type { TopicOperations } from "./topic-operations-contract.ts";
import { checkTopicPolicy, statementsOf } from "./topic-policy.ts";

interface Policy {
  readonly Statement?: unknown;
}

const ACTIONS = new Set([
  "AddPermission",
  "DeleteTopic",
  "GetDataProtectionPolicy",
  "GetTopicAttributes",
  "ListSubscriptionsByTopic",
  "ListTagsForResource",
  "Publish",
  "PutDataProtectionPolicy",
  "RemovePermission",
  "SetTopicAttributes",
  "Subscribe",
]);

function policyOf(state: BrokerState, topic: Topic): Policy {
  const { name, attributes } = topic.record;
  const text =
    attributes.Policy ?? defaultTopicPolicy(state.topicArnOf(name), state.identity.account);
  return JSON.parse(text) as Policy;
}

function isLabelled(statement: unknown, label: string): boolean {
  return typeof statement === "object" && (statement as { Sid?: unknown } | null)?.Sid === label;
}

function save(state: BrokerState, step: ModelStep, topic: Topic, text: string): void {
  const attributes = { ...topic.record.attributes, Policy: text };
  state.topics.saveTopic(topic, { ...topic.record, attributes }, step);
}

/** AWS writes a list of one as the bare element. */
function scalar<T>(values: readonly T[]): T | readonly T[] {
  return values.length === 1 ? (values[0] as T) : values;
}

export function stepAddTopicPermission(
  state: BrokerState,
  step: ModelStep,
  input: TopicOperations["addTopicPermission"]["input"],
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const { label, accounts, actions } = input;
  if (actions.some((action) => !ACTIONS.has(action))) {
    return invalidTopicParameter("Policy statement action out of service scope!");
  }
  const policy = policyOf(state, topic);
  const statements = statementsOf(policy);
  if (statements.some((statement) => isLabelled(statement, label))) {
    return invalidTopicParameter("Statement already exists");
  }
  const statement = {
    Sid: label,
    Effect: "Allow",
    Principal: { AWS: scalar(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: scalar(actions.map((action) => `SNS:${action}`)),
    Resource: state.topicArnOf(topic.record.name),
  };
  const text = JSON.stringify({ ...policy, Statement: [...statements, statement] });
  const reason = checkTopicPolicy(text);
  if (reason !== null) return invalidTopicParameter(reason);
  save(state, step, topic, text);
  return succeed(null);
}

/** Removing a missing statement succeeds. */
export function stepRemoveTopicPermission(
  state: BrokerState,
  step: ModelStep,
  input: TopicOperations["removeTopicPermission"]["input"],
): Result<null, Fault> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const policy = policyOf(state, topic);
  const statements = statementsOf(policy);
  const remaining = statements.filter((statement) => !isLabelled(statement, input.label));
  if (remaining.length < statements.length) {
    save(state, step, topic, JSON.stringify({ ...policy, Statement: remaining }));
  }
  return succeed(null);
}
