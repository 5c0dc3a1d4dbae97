// Steps: which function of the model answers which operation.

import type { BrokerState } from "../model/broker-state.ts";
import type { Outcome } from "../model/fault.ts";
import type { OperationInput, OperationName, OperationOutput } from "../model/operations.ts";
import { settleOutgoing, takeOutgoing } from "../model/sns/pending-http.ts";
import { publish } from "../model/sns/publish.ts";
import { findSigningIdentity, keepSigningIdentity } from "../model/sns/signing-identity.ts";
import {
  confirmSubscription,
  getSubscriptionAttributes,
  setSubscriptionAttribute,
  subscribe,
  unsubscribe,
} from "../model/sns/subscription-operations.ts";
import { countTopics, listSubscriptions, listTopics } from "../model/sns/topic-lists.ts";
import {
  createTopic,
  deleteTopic,
  getTopicAttributes,
  listTopicTags,
  setTopicAttribute,
  tagTopic,
  untagTopic,
} from "../model/sns/topic-operations.ts";
import { addTopicPermission, removeTopicPermission } from "../model/sns/topic-permissions.ts";
import { getQueueAttributes } from "../model/sqs/attribute-view.ts";
import { deleteMessages } from "../model/sqs/delete.ts";
import {
  cancelMoveTask,
  listMoveTasks,
  startMoveTask,
} from "../model/sqs/move-tasks/move-task-operations.ts";
import { addPermission, removePermission } from "../model/sqs/permissions.ts";
import { countQueues, listDeadLetterSources, listQueues, peek } from "../model/sqs/queue-lists.ts";
import {
  createQueue,
  deleteQueue,
  findQueue,
  listQueueTags,
  purgeQueue,
  setQueueAttributes,
  tagQueue,
  untagQueue,
} from "../model/sqs/queue-operations.ts";
import { receive, type Waiting } from "../model/sqs/receive.ts";
import { send } from "../model/sqs/send.ts";
import { changeVisibility } from "../model/sqs/visibility.ts";
import type { Step } from "../model/step.ts";
import { S3_STEPS } from "./s3-steps.ts";

type StepOf<K extends OperationName> = (
  state: BrokerState,
  step: Step,
  input: OperationInput<K>,
) => Outcome<OperationOutput<K>> | (K extends "receive" ? Waiting : never);

export const STEPS: { readonly [K in OperationName]: StepOf<K> } = {
  createQueue,
  deleteQueue,
  findQueue,
  listQueues,
  getQueueAttributes,
  setQueueAttributes,
  purgeQueue,
  tagQueue,
  untagQueue,
  listQueueTags,
  addPermission,
  removePermission,
  send,
  receive,
  delete: deleteMessages,
  changeVisibility,
  listDeadLetterSources,
  startMoveTask,
  listMoveTasks,
  cancelMoveTask,
  countQueues,
  peek,
  createTopic,
  deleteTopic,
  listTopics,
  getTopicAttributes,
  setTopicAttribute,
  subscribe,
  confirmSubscription,
  unsubscribe,
  listSubscriptions,
  getSubscriptionAttributes,
  setSubscriptionAttribute,
  publish,
  tagTopic,
  untagTopic,
  listTopicTags,
  addTopicPermission,
  removeTopicPermission,
  keepSigningIdentity,
  findSigningIdentity,
  takeOutgoing,
  settleOutgoing,
  countTopics,
  ...S3_STEPS,
};
