// TopicLists: lists topics or subscriptions, a hundred per page.
//   L1. A token is the position at which the previous page ended, so additions and deletions
//       between two pages neither repeat nor hide anything else.

import { SNS_LIST_PAGE } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { BrokerState } from "../broker-state.ts";
import type { Fault } from "../fault.ts";
import type { ModelStep } from "../step.ts";
import type { Subscription } from "./subscription.ts";
import { invalidTopicParameter, missingTopic } from "./topic-faults.ts";
import type {
  SubscriptionView,
  TopicCounts,
  TopicOperations,
} from "./topic-operations-contract.ts";

/** The text of a token, or null if the token is invalid. */
function readToken(token: string): string | null {
  const text = Buffer.from(token, "base64url").toString();
  return Buffer.from(text).toString("base64url") === token ? text : null;
}

function writeToken(text: string): string {
  return Buffer.from(text).toString("base64url");
}

export function stepListTopics(
  state: BrokerState,
  _step: ModelStep,
  input: { token: string | null },
): Result<{ names: string[]; nextToken: string | null }, Fault> {
  const last = input.token === null ? "" : readToken(input.token);
  if (last === null) return invalidTopicParameter("NextToken");
  const names = [...state.topics.byName.keys()].filter((name) => name > last).sort();
  const page = names.slice(0, SNS_LIST_PAGE);
  const more = names.length > page.length;
  return succeed({ names: page, nextToken: more ? writeToken(page.at(-1) as string) : null });
}

export function stepListSubscriptions(
  state: BrokerState,
  _step: ModelStep,
  input: TopicOperations["listSubscriptions"]["input"],
): Result<TopicOperations["listSubscriptions"]["output"], Fault> {
  const topic = input.topic === null ? null : state.topics.byName.get(input.topic);
  if (topic === undefined) return missingTopic();
  const last = input.token === null ? "0" : readToken(input.token);
  if (last === null || !/^\d{1,15}$/.test(last)) return invalidTopicParameter("NextToken");
  const all = [...(topic ?? state.topics).subscriptions.values()];
  const later = all
    .filter(({ record }) => record.order > Number(last))
    .sort((a, b) => a.record.order - b.record.order);
  const page = later.slice(0, SNS_LIST_PAGE);
  const more = later.length > page.length;
  return succeed({
    subscriptions: page.map((subscription) => viewSubscription(state, subscription)),
    nextToken: more ? writeToken(String(page.at(-1)?.record.order)) : null,
  });
}

export function viewSubscription(
  state: BrokerState,
  { record, topic }: Subscription,
): SubscriptionView {
  const topicArn = state.topicArnOf(topic.record.name);
  const { protocol, endpoint, confirmed } = record;
  return { arn: `${topicArn}:${record.id}`, pending: !confirmed, topicArn, protocol, endpoint };
}

export function countTopics(
  state: BrokerState,
  _step: ModelStep,
  input: { prefix: string },
): Result<{ topics: TopicCounts[] }, Fault> {
  const chosen = [...state.topics.byName.values()].filter(({ record }) =>
    record.name.startsWith(input.prefix),
  );
  const topics = chosen.map((topic) => {
    const all = [...topic.subscriptions.values()];
    const confirmed = all.filter(({ record }) => record.confirmed).length;
    return {
      name: topic.record.name,
      fifo: topic.fifo,
      confirmed,
      pending: all.length - confirmed,
      dropped: topic.dropped,
      archived: topic.archive.size,
      outgoing: all.reduce((sum, { pendingHttp }) => sum + (pendingHttp?.total ?? 0), 0),
    };
  });
  return succeed({ topics });
}
