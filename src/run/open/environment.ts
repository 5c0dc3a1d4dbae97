// Environment: where a pipeline's deliveries come from. AWS and the embedded cloud differ here, and
// nowhere else.

import type { ObjectSource } from "../../ports/object-source.ts";
import type { Queue } from "../../ports/queue-receiver.ts";

export interface Environment {
  readonly queue: Queue;
  /** Null if the queue has no dead-letter queue. */
  readonly deadLetters: Queue | null;
  /** Null if messages never refer to objects. */
  readonly objects: ObjectSource | null;
  close(): Promise<void>;
}
