// Steps: the model function of each operation.

import type { BrokerState } from "../model/broker-state.ts";
import type { OperationInput, OperationName, OperationResult } from "../model/operations.ts";
import { finishPendingHttp, takePendingHttp } from "../model/sns/pending-http.ts";
import { stepPublish } from "../model/sns/publish.ts";
import { findSigningIdentity, keepSigningIdentity } from "../model/sns/signing-identity.ts";
import {
  setSubscriptionAttribute,
  stepConfirmSubscription,
  stepGetSubscriptionAttributes,
  stepSubscribe,
  stepUnsubscribe,
} from "../model/sns/subscription-operations.ts";
import { countTopics, stepListSubscriptions, stepListTopics } from "../model/sns/topic-lists.ts";
import {
  listTopicTags,
  setTopicAttribute,
  stepCreateTopic,
  stepDeleteTopic,
  stepGetTopicAttributes,
  tagTopic,
  untagTopic,
} from "../model/sns/topic-operations.ts";
import {
  stepAddTopicPermission,
  stepRemoveTopicPermission,
} from "../model/sns/topic-permissions.ts";
import { stepGetQueueAttributes } from "../model/sqs/attribute-view.ts";
import { deleteMessages } from "../model/sqs/delete.ts";
import {
  cancelMoveTask,
  listMoveTasks,
  startMoveTask,
} from "../model/sqs/move-tasks/move-task-operations.ts";
import { stepAddPermission, stepRemovePermission } from "../model/sqs/permissions.ts";
import {
  countQueues,
  listDeadLetterSources,
  peek,
  stepListQueues,
} from "../model/sqs/queue-lists.ts";
import {
  findQueue,
  stepCreateQueue,
  stepDeleteQueue,
  stepListQueueTags,
  stepPurgeQueue,
  stepSetQueueAttributes,
  stepTagQueue,
  stepUntagQueue,
} from "../model/sqs/queue-operations.ts";
import { type MustWait, receive } from "../model/sqs/receive.ts";
import { send } from "../model/sqs/send.ts";
import { changeVisibility, reveal } from "../model/sqs/visibility.ts";
import type { ModelStep } from "../model/step.ts";
import { S3_STEPS } from "./s3-steps.ts";

type StepOf<K extends OperationName> = (
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<K>,
) => OperationResult<K> | (K extends "receive" ? MustWait : never);

export const STEPS: { readonly [K in OperationName]: StepOf<K> } = {
  createQueue: stepCreateQueue,
  deleteQueue: stepDeleteQueue,
  findQueue,
  listQueues: stepListQueues,
  getQueueAttributes: stepGetQueueAttributes,
  setQueueAttributes: stepSetQueueAttributes,
  purgeQueue: stepPurgeQueue,
  tagQueue: stepTagQueue,
  untagQueue: stepUntagQueue,
  listQueueTags: stepListQueueTags,
  addPermission: stepAddPermission,
  removePermission: stepRemovePermission,
  send,
  receive,
  delete: deleteMessages,
  changeVisibility,
  reveal,
  listDeadLetterSources,
  startMoveTask,
  listMoveTasks,
  cancelMoveTask,
  countQueues,
  peek,
  createTopic: stepCreateTopic,
  deleteTopic: stepDeleteTopic,
  listTopics: stepListTopics,
  getTopicAttributes: stepGetTopicAttributes,
  setTopicAttribute,
  subscribe: stepSubscribe,
  confirmSubscription: stepConfirmSubscription,
  unsubscribe: stepUnsubscribe,
  listSubscriptions: stepListSubscriptions,
  getSubscriptionAttributes: stepGetSubscriptionAttributes,
  setSubscriptionAttribute,
  publish: stepPublish,
  tagTopic,
  untagTopic,
  listTopicTags,
  addTopicPermission: stepAddTopicPermission,
  removeTopicPermission: stepRemoveTopicPermission,
  keepSigningIdentity,
  findSigningIdentity,
  takePendingHttp,
  finishPendingHttp,
  countTopics,
  ...S3_STEPS,
};
