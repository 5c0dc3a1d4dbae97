// `tidegate/aws/sqs`: queues of SQS.

export { type OpenSqsQueueOptions, openSqsQueue } from "../../aws/sqs/open-sqs-queue.ts";
export { createSqsQueue, type SqsQueueOptions } from "../../aws/sqs/sqs-queue.ts";
export type { Queue } from "../../ports/queue-receiver.ts";
