// The actions of SNS: the one table that the query protocol and the reference page read.

import type { Action } from "./call.ts";
import { addTopicPermission } from "./sns/add-topic-permission.ts";
import { confirmSubscription } from "./sns/confirm-subscription.ts";
import { createTopic } from "./sns/create-topic.ts";
import { deleteTopic } from "./sns/delete-topic.ts";
import { getSubscriptionAttributes } from "./sns/get-subscription-attributes.ts";
import { getTopicAttributes } from "./sns/get-topic-attributes.ts";
import { listSubscriptions } from "./sns/list-subscriptions.ts";
import { listSubscriptionsByTopic } from "./sns/list-subscriptions-by-topic.ts";
import { listTagsForResource } from "./sns/list-tags-for-resource.ts";
import { listTopics } from "./sns/list-topics.ts";
import { publish } from "./sns/publish.ts";
import { publishBatch } from "./sns/publish-batch.ts";
import { removeTopicPermission } from "./sns/remove-topic-permission.ts";
import { setSubscriptionAttributes } from "./sns/set-subscription-attributes.ts";
import { setTopicAttributes } from "./sns/set-topic-attributes.ts";
import { subscribe } from "./sns/subscribe.ts";
import { tagResource } from "./sns/tag-resource.ts";
import { unsubscribe } from "./sns/unsubscribe.ts";
import { untagResource } from "./sns/untag-resource.ts";

export const SNS_ACTIONS: readonly Action[] = [
  addTopicPermission,
  confirmSubscription,
  createTopic,
  deleteTopic,
  getSubscriptionAttributes,
  getTopicAttributes,
  listSubscriptions,
  listSubscriptionsByTopic,
  listTagsForResource,
  listTopics,
  publish,
  publishBatch,
  removeTopicPermission,
  setSubscriptionAttributes,
  setTopicAttributes,
  subscribe,
  tagResource,
  unsubscribe,
  untagResource,
];
