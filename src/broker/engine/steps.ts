// Steps: which function of the model answers which operation.

import { getQueueAttributes } from "../model/attribute-view.ts";
import type { BrokerState } from "../model/broker-state.ts";
import { deleteMessages } from "../model/delete.ts";
import type { Outcome } from "../model/fault.ts";
import { cancelMoveTask, listMoveTasks, startMoveTask } from "../model/move-task-operations.ts";
import type { OperationInput, OperationName, OperationOutput } from "../model/operations.ts";
import { settleOutgoing, takeOutgoing } from "../model/outgoing.ts";
import { addPermission, removePermission } from "../model/permissions.ts";
import { publish } from "../model/publish.ts";
import { countQueues, listDeadLetterSources, listQueues, peek } from "../model/queue-lists.ts";
import {
  createQueue,
  deleteQueue,
  findQueue,
  listQueueTags,
  purgeQueue,
  setQueueAttributes,
  tagQueue,
  untagQueue,
} from "../model/queue-operations.ts";
import { receive, type Waiting } from "../model/receive.ts";
import { send } from "../model/send.ts";
import { findSigningIdentity, keepSigningIdentity } from "../model/signing-identity.ts";
import type { Step } from "../model/step.ts";
import {
  confirmSubscription,
  getSubscriptionAttributes,
  setSubscriptionAttribute,
  subscribe,
  unsubscribe,
} from "../model/subscription-operations.ts";
import { countTopics, listSubscriptions, listTopics } from "../model/topic-lists.ts";
import {
  createTopic,
  deleteTopic,
  getTopicAttributes,
  listTopicTags,
  setTopicAttribute,
  tagTopic,
  untagTopic,
} from "../model/topic-operations.ts";
import { addTopicPermission, removeTopicPermission } from "../model/topic-permissions.ts";
import { changeVisibility } from "../model/visibility.ts";
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
