// The actions of SQS: the one table that both protocols and the reference page read.

import type { Action } from "./call.ts";
import { addPermission } from "./sqs/add-permission.ts";
import { cancelMessageMoveTask } from "./sqs/cancel-message-move-task.ts";
import { changeMessageVisibility } from "./sqs/change-message-visibility.ts";
import { changeMessageVisibilityBatch } from "./sqs/change-message-visibility-batch.ts";
import { createQueue } from "./sqs/create-queue.ts";
import { deleteMessage } from "./sqs/delete-message.ts";
import { deleteMessageBatch } from "./sqs/delete-message-batch.ts";
import { deleteQueue } from "./sqs/delete-queue.ts";
import { getQueueAttributes } from "./sqs/get-queue-attributes.ts";
import { getQueueUrl } from "./sqs/get-queue-url.ts";
import { listDeadLetterSourceQueues } from "./sqs/list-dead-letter-source-queues.ts";
import { listMessageMoveTasks } from "./sqs/list-message-move-tasks.ts";
import { listQueueTags } from "./sqs/list-queue-tags.ts";
import { listQueues } from "./sqs/list-queues.ts";
import { purgeQueue } from "./sqs/purge-queue.ts";
import { receiveMessage } from "./sqs/receive-message.ts";
import { removePermission } from "./sqs/remove-permission.ts";
import { sendMessage } from "./sqs/send-message.ts";
import { sendMessageBatch } from "./sqs/send-message-batch.ts";
import { setQueueAttributes } from "./sqs/set-queue-attributes.ts";
import { startMessageMoveTask } from "./sqs/start-message-move-task.ts";
import { tagQueue } from "./sqs/tag-queue.ts";
import { untagQueue } from "./sqs/untag-queue.ts";

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

/** Actions that make no sense on the URL of one queue. */
export function isForQueueUrl(action: Action): boolean {
  return "QueueUrl" in action.input.fields || action.name === "GetQueueUrl";
}
