// Space needs: which operations add data. While the disk is full, they are rejected, and all others
// run.
//   N1. Operations that delete, end or replace something run. So do those that a client needs to
//       get there: reads, receives, changes of visibility and of settings.
//   N2. Some of these add a little as well, such as the event of a deleted object, or a delete
//       marker. The store's reserve is for them (S5 of broker-store.ts).

import type { OperationInput, OperationName } from "../../model/operations.ts";
import type { PendingOperation } from "../pending-operation.ts";

type Need<K extends OperationName> = boolean | ((input: OperationInput<K>) => boolean);

/** True if the operation adds data. The table is total: a new operation needs an entry. */
const NEEDS: { readonly [K in OperationName]: Need<K> } = {
  createQueue: true,
  deleteQueue: false,
  findQueue: false,
  listQueues: false,
  getQueueAttributes: false,
  setQueueAttributes: false,
  purgeQueue: false,
  tagQueue: true,
  untagQueue: false,
  listQueueTags: false,
  addPermission: true,
  removePermission: false,
  send: true,
  receive: false,
  delete: false,
  changeVisibility: false,
  listDeadLetterSources: false,
  startMoveTask: true,
  listMoveTasks: false,
  cancelMoveTask: false,
  countQueues: false,
  peek: false,
  reveal: false,
  createTopic: true,
  deleteTopic: false,
  listTopics: false,
  getTopicAttributes: false,
  setTopicAttribute: false,
  subscribe: true,
  confirmSubscription: false,
  unsubscribe: false,
  listSubscriptions: false,
  getSubscriptionAttributes: false,
  setSubscriptionAttribute: false,
  publish: true,
  tagTopic: true,
  untagTopic: false,
  listTopicTags: false,
  addTopicPermission: true,
  removeTopicPermission: false,
  keepSigningIdentity: true,
  findSigningIdentity: false,
  takePendingHttp: false,
  finishPendingHttp: false,
  countTopics: false,
  createBucket: true,
  deleteBucket: false,
  findBucket: false,
  listBuckets: false,
  setBucketVersioning: false,
  setBucketConfig: false,
  setBucketTags: ({ tags }) => tags !== null,
  setBucketNotification: false,
  putObject: true,
  findObject: false,
  deleteObjects: false,
  setObjectTags: ({ tags }) => tags !== null,
  listObjects: false,
  listObjectVersions: false,
  createUpload: true,
  findUpload: false,
  putPart: true,
  completeUpload: true,
  abortUpload: false,
  listParts: false,
  listUploads: false,
};

/** Whether an operation may need more space than it frees. */
export function needsSpace({ name, input }: Pick<PendingOperation, "name" | "input">): boolean {
  const need = NEEDS[name] as Need<OperationName>;
  return typeof need === "boolean" ? need : need(input);
}
