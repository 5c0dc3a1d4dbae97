// Steps: which function of the model answers which operation.

import { getQueueAttributes } from "../model/attribute-view.ts";
import type { BrokerState } from "../model/broker-state.ts";
import { deleteMessages } from "../model/delete.ts";
import type { Outcome } from "../model/fault.ts";
import { cancelMoveTask, listMoveTasks, startMoveTask } from "../model/move-task-operations.ts";
import type { OperationInput, OperationName, OperationOutput } from "../model/operations.ts";
import { addPermission, removePermission } from "../model/permissions.ts";
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
import type { Step } from "../model/step.ts";
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
  ...S3_STEPS,
};
