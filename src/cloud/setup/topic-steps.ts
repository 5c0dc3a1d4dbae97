// Topic steps: the topics of a setup and their subscriptions.

import type { Broker } from "../../broker/engine/broker.ts";
import type { Fault } from "../../broker/model/fault.ts";
import type { OperationOutput } from "../../broker/model/operations.ts";
import type { SubscriptionView } from "../../broker/model/sns/topic-operations-contract.ts";
import type { Result } from "../../core/result.ts";
import type { SubscriptionSetup, TopicSetup } from "./cloud-setup.ts";
import { isFifo } from "./references.ts";
import { resourceStep } from "./resource-step.ts";
import {
  attributeTexts,
  firstDifference,
  type SetupContext,
  type SetupStep,
  setupQueueArn,
} from "./setup-step.ts";

export function topicSteps(topics: readonly TopicSetup[]): SetupStep[] {
  return topics.map(({ name, attributes: requested, tags = {} }, index) =>
    resourceStep({
      path: `/topics/${index}`,
      label: `the topic "${name}"`,
      attributes: attributeTexts(requested),
      tags,
      create: (broker, some) => {
        const attributes = isFifo(name) ? { ...some, FifoTopic: "true" } : { ...some };
        return broker.submit("createTopic", { name, attributes, tags: { ...tags } });
      },
      showAttributes: (broker) => broker.submit("getTopicAttributes", { topic: name }),
      showTags: (broker) => broker.submit("listTopicTags", { topic: name }),
    }),
  );
}

export function subscriptionSteps(
  subscriptions: readonly SubscriptionSetup[],
  context: SetupContext,
): SetupStep[] {
  return subscriptions.map((subscription, index) => {
    const { topic, queue } = subscription;
    const endpoint =
      queue === undefined ? (subscription.endpoint ?? "") : setupQueueArn(context, queue);
    const protocol = queue === undefined ? endpoint.slice(0, endpoint.indexOf(":")) : "sqs";
    const attributes = attributesOf(subscription, context);
    const target = { topic, protocol, endpoint };
    return {
      path: `/subscriptions/${index}`,
      label: `the subscription of "${queue ?? endpoint}" to "${topic}"`,
      exists: async (broker) => (await findSubscription(broker, target)) !== null,
      async differs(broker) {
        const current = await findSubscription(broker, target);
        if (current === null) return "it was deleted";
        const id = { subscription: current.arn.slice(current.arn.lastIndexOf(":") + 1) };
        const shown = await broker.submit("getSubscriptionAttributes", id);
        if (!shown.ok) return shown.fault.message;
        return firstDifference("attribute", attributes, shown.value.attributes);
      },
      async make(broker) {
        const { origin } = context;
        const outcome = await broker.submit("subscribe", { ...target, attributes, origin });
        return outcome.ok ? null : outcome.fault.message;
      },
    };
  });
}

async function findSubscription(
  broker: Broker,
  wanted: { readonly topic: string; readonly protocol: string; readonly endpoint: string },
): Promise<SubscriptionView | null> {
  let token: string | null = null;
  do {
    const page: Result<OperationOutput<"listSubscriptions">, Fault> = await broker.submit(
      "listSubscriptions",
      { topic: wanted.topic, token },
    );
    if (!page.ok) return null;
    const current = page.value.subscriptions.find(
      ({ protocol, endpoint }) => protocol === wanted.protocol && endpoint === wanted.endpoint,
    );
    if (current !== undefined) return current;
    token = page.value.nextToken;
  } while (token !== null);
  return null;
}

function attributesOf(
  subscription: SubscriptionSetup,
  context: SetupContext,
): Record<string, string> {
  const { raw, filterPolicy, filterPolicyScope, deadLetter } = subscription;
  const attributes = attributeTexts(subscription.attributes);
  if (raw !== undefined) attributes.RawMessageDelivery = String(raw);
  if (filterPolicyScope !== undefined) attributes.FilterPolicyScope = filterPolicyScope;
  if (filterPolicy !== undefined) attributes.FilterPolicy = JSON.stringify(filterPolicy);
  if (deadLetter !== undefined) {
    const deadLetterTargetArn = setupQueueArn(context, deadLetter.queue);
    attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn });
  }
  return attributes;
}
