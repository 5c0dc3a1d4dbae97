// What `tidegate/aws/sqs` exports: names only.

export { type OpenSqsQueueOptions, openSqsQueue } from "./open-sqs-queue.ts";
export { createSqsQueue, type SqsQueueOptions } from "./sqs-queue.ts";
