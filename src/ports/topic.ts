// TopicPublisher: a topic as producers see it; it behaves like a queue (ports/queue.ts, Q1 to Q3).

import type { OutgoingMessage, SendLimits, SendOutcome } from "./queue.ts";

/** The end of a topic to which producers publish. */
export interface TopicPublisher {
  readonly kind: "topic";
  readonly name: string;
  readonly fifo: boolean;
  readonly limits: SendLimits;
  sendBatch(messages: readonly OutgoingMessage[]): Promise<readonly SendOutcome[]>;
}
