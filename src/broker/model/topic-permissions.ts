// TopicPermissions: AddPermission and RemovePermission write statements into the topic's policy.

import type { BrokerState } from "./broker-state.ts";
import { done, type Outcome } from "./fault.ts";
import type { Step } from "./step.ts";
import type { Topic } from "./topic.ts";
import { defaultTopicPolicy } from "./topic-attributes.ts";
import type { TopicOperations } from "./topic-contract.ts";
import { invalidParameter, missingTopic } from "./topic-faults.ts";

interface Policy {
  readonly Statement?: unknown;
}

interface Statement {
  readonly Sid?: unknown;
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

function policyOf(state: BrokerState, topic: Topic): { policy: Policy; statements: Statement[] } {
  const { name, attributes } = topic.record;
  const text =
    attributes.Policy ?? defaultTopicPolicy(state.topicArnOf(name), state.identity.account);
  const policy = JSON.parse(text) as Policy;
  const given = policy.Statement ?? [];
  const statements = (Array.isArray(given) ? given : [given]) as Statement[];
  return { policy, statements };
}

function save(
  state: BrokerState,
  step: Step,
  topic: Topic,
  policy: Policy,
  statements: readonly Statement[],
): void {
  const text = JSON.stringify({ ...policy, Statement: statements });
  const attributes = { ...topic.record.attributes, Policy: text };
  state.topics.saveTopic(topic, { ...topic.record, attributes }, step);
}

/** AWS writes a list of one as the bare element. */
function scalar<T>(values: readonly T[]): T | readonly T[] {
  return values.length === 1 ? (values[0] as T) : values;
}

export function addTopicPermission(
  state: BrokerState,
  step: Step,
  input: TopicOperations["addTopicPermission"]["input"],
): Outcome<null> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const { label, accounts, actions } = input;
  if (actions.some((action) => !ACTIONS.has(action))) {
    return invalidParameter("Policy statement action out of service scope!");
  }
  const { policy, statements } = policyOf(state, topic);
  if (statements.some(({ Sid }) => Sid === label)) {
    return invalidParameter("Statement already exists");
  }
  const statement = {
    Sid: label,
    Effect: "Allow",
    Principal: { AWS: scalar(accounts.map((account) => `arn:aws:iam::${account}:root`)) },
    Action: scalar(actions.map((action) => `SNS:${action}`)),
    Resource: state.topicArnOf(topic.record.name),
  };
  save(state, step, topic, policy, [...statements, statement]);
  return done(null);
}

/** Taking away what is not there is done already. */
export function removeTopicPermission(
  state: BrokerState,
  step: Step,
  input: TopicOperations["removeTopicPermission"]["input"],
): Outcome<null> {
  const topic = state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const { policy, statements } = policyOf(state, topic);
  const kept = statements.filter(({ Sid }) => Sid !== input.label);
  if (kept.length < statements.length) save(state, step, topic, policy, kept);
  return done(null);
}
