// Late queue: the queue of `eventTime.late`, opened when the first record is sent to it.
//   Q1. A late queue that does not exist does not keep a pipeline from starting: on-time records do
//       not need it. Sending fails with one sentence until it exists, and loses nothing.
//   Q2. Its name is the last part of a URL or ARN, as queues report it.

import {
  SQS_BATCH_BYTES_MAX,
  SQS_BATCH_ENTRIES_MAX,
  SQS_MESSAGE_BYTES_MAX,
} from "../../core/limits.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import type { QueueSender, SendLimits } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";

const LIMITS: SendLimits = {
  entriesMax: SQS_BATCH_ENTRIES_MAX,
  batchBytesMax: SQS_BATCH_BYTES_MAX,
  messageBytesMax: SQS_MESSAGE_BYTES_MAX,
};

export function lateQueueOf({ eventTime: { late } }: Pipeline): string | undefined {
  return typeof late === "object" ? late.queue : undefined;
}

/** A queue that is looked up on first use, and again after a failure (Q1). */
export function openLater(queue: string, open: () => Promise<Queue>): QueueSender {
  const name = queueNameOf(queue);
  let opening: Promise<Queue> | null = null;
  const opened = () => {
    opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    });
    return opening;
  };
  return {
    kind: "queue",
    name,
    fifo: name.endsWith(".fifo"),
    limits: LIMITS,
    sendBatch: async (messages) => (await opened()).sendBatch(messages),
  };
}

/** Q2 */
export function queueNameOf(queue: string): string {
  return queue.split(/[/:]/).at(-1) ?? queue;
}
