// The actions of SNS: the one table that the query protocol and the reference page use.

import type { Action } from "../protocol/call.ts";
import { addTopicPermission } from "./actions/add-topic-permission.ts";
import { confirmSubscription } from "./actions/confirm-subscription.ts";
import { createTopic } from "./actions/create-topic.ts";
import { deleteTopic } from "./actions/delete-topic.ts";
import { getSubscriptionAttributes } from "./actions/get-subscription-attributes.ts";
import { getTopicAttributes } from "./actions/get-topic-attributes.ts";
import { listSubscriptions } from "./actions/list-subscriptions.ts";
import { listSubscriptionsByTopic } from "./actions/list-subscriptions-by-topic.ts";
import { listTagsForResource } from "./actions/list-tags-for-resource.ts";
import { listTopics } from "./actions/list-topics.ts";
import { publish } from "./actions/publish.ts";
import { publishBatch } from "./actions/publish-batch.ts";
import { removeTopicPermission } from "./actions/remove-topic-permission.ts";
import { setSubscriptionAttributes } from "./actions/set-subscription-attributes.ts";
import { setTopicAttributes } from "./actions/set-topic-attributes.ts";
import { subscribe } from "./actions/subscribe.ts";
import { tagResource } from "./actions/tag-resource.ts";
import { unsubscribe } from "./actions/unsubscribe.ts";
import { untagResource } from "./actions/untag-resource.ts";

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
