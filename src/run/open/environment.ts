// Environment: where a pipeline's deliveries come from. AWS and the embedded cloud differ here, and
// nowhere else.

import type { QueueLook } from "../../ingest/late/complete-up-to.ts";
import type { ObjectSource } from "../../ports/objects/object-source.ts";
import type { QueueSender } from "../../ports/queue.ts";
import type { Queue } from "../../ports/queue-receiver.ts";

export interface Environment {
  readonly queue: Queue;
  /** Null if the queue has no dead-letter queue. */
  readonly deadLetters: Queue | null;
  /** The queue of `eventTime.late`; null or absent without one. */
  readonly lateQueue?: QueueSender | null;
  /** What is in the queues, to know up to where the pipeline is complete. */
  readonly looks?: (max?: number) => Promise<readonly QueueLook[]>;
  /** Null if messages never refer to objects. */
  readonly objects: ObjectSource | null;
  close(): Promise<void>;
}
