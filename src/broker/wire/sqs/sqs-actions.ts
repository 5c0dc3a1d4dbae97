// The actions of SQS: the one table that both protocols and the reference page use.

import type { Action } from "../protocol/call.ts";
import { addPermission } from "./actions/add-permission.ts";
import { cancelMessageMoveTask } from "./actions/cancel-message-move-task.ts";
import { changeMessageVisibility } from "./actions/change-message-visibility.ts";
import { changeMessageVisibilityBatch } from "./actions/change-message-visibility-batch.ts";
import { createQueue } from "./actions/create-queue.ts";
import { deleteMessage } from "./actions/delete-message.ts";
import { deleteMessageBatch } from "./actions/delete-message-batch.ts";
import { deleteQueue } from "./actions/delete-queue.ts";
import { getQueueAttributes } from "./actions/get-queue-attributes.ts";
import { getQueueUrl } from "./actions/get-queue-url.ts";
import { listDeadLetterSourceQueues } from "./actions/list-dead-letter-source-queues.ts";
import { listMessageMoveTasks } from "./actions/list-message-move-tasks.ts";
import { listQueueTags } from "./actions/list-queue-tags.ts";
import { listQueues } from "./actions/list-queues.ts";
import { purgeQueue } from "./actions/purge-queue.ts";
import { receiveMessage } from "./actions/receive-message.ts";
import { removePermission } from "./actions/remove-permission.ts";
import { sendMessage } from "./actions/send-message.ts";
import { sendMessageBatch } from "./actions/send-message-batch.ts";
import { setQueueAttributes } from "./actions/set-queue-attributes.ts";
import { startMessageMoveTask } from "./actions/start-message-move-task.ts";
import { tagQueue } from "./actions/tag-queue.ts";
import { untagQueue } from "./actions/untag-queue.ts";

export const SQS_ACTIONS: readonly Action[] = [
  addPermission,
  cancelMessageMoveTask,
  changeMessageVisibilityBatch,
  changeMessageVisibility,
  createQueue,
  deleteMessageBatch,
  deleteMessage,
  deleteQueue,
  getQueueAttributes,
  getQueueUrl,
  listDeadLetterSourceQueues,
  listMessageMoveTasks,
  listQueueTags,
  listQueues,
  purgeQueue,
  receiveMessage,
  removePermission,
  sendMessageBatch,
  sendMessage,
  setQueueAttributes,
  startMessageMoveTask,
  tagQueue,
  untagQueue,
];

/** Whether an action is valid on the URL of a queue. */
export function isForQueueUrl(action: Action): boolean {
  return "QueueUrl" in action.input.fields || action.name === "GetQueueUrl";
}
