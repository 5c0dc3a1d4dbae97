// QueueReceiver: the source of deliveries, where they are settled too.
//   V1. Deliveries from `receive` are hidden from other consumers for `visibilityMs`, counted from
//       before the call returned. An aborted receive resolves immediately, usually without
//       deliveries. It may have received messages, which become visible again by themselves after
//       that time.
//   V2. Results of settlements come in request order, one each. "gone" means that the receipt is no
//       longer valid: the message was deleted, or its timeout expired and another consumer has it.
//   V3. A call that fails with TG_QUEUE_UNAVAILABLE may have been carried out, fully or partly.
//       Deleting or changing the visibility again is safe.

import type { RedriveFacts } from "../core/queue-facts.ts";
import type { DurationMs, EpochMs } from "../core/units.ts";
import type { QueueSender } from "./queue.ts";

/** One receive of a message. */
export interface Delivery {
  readonly messageId: string;
  /** Settles this delivery; the next delivery of the message has another one. */
  readonly receipt: string;
  readonly body: string;
  /** Text attributes; others are omitted. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The system attribute AWSTraceHeader. */
  readonly traceHeader: string | null;
  readonly groupId: string | null;
  /** The deduplication id on a FIFO queue; null or omitted on others. */
  readonly dedupId?: string | null;
  readonly sentAt: EpochMs;
  /** 1 for the first; grows with every delivery, whatever its outcome. */
  readonly receiveCount: number;
  /** ARN of the queue that a dead letter came from, if SQS itself moved it. */
  readonly movedFrom: string | null;
}

export interface ReceiveRequest {
  readonly max: number;
  readonly waitMs: DurationMs;
  readonly visibilityMs: DurationMs;
}

export type SettlementResult =
  | { readonly kind: "done" }
  | { readonly kind: "gone"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

export interface VisibilityChange {
  readonly receipt: string;
  /** Counted from now; 0 makes the message visible immediately. */
  readonly visibilityMs: DurationMs;
}

/** The settings of a queue that a consumer depends on. */
export interface QueueFacts {
  readonly arn: string;
  readonly visibilityMs: DurationMs;
  readonly retentionMs: DurationMs;
  /** Default wait time of its receives. */
  readonly waitMs: DurationMs;
  /** The largest message it accepts, including attributes. */
  readonly messageBytesMax: number;
  readonly redrive: RedriveFacts | null;
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
  /** When the oldest message was sent; null if there is none, absent if the queue does not say. */
  readonly oldestSentAt?: EpochMs | null;
}

export interface QueueReceiver {
  readonly name: string;
  readonly fifo: boolean;
  receive(request: ReceiveRequest, signal: AbortSignal): Promise<readonly Delivery[]>;
  /** Takes 1 to SQS_BATCH_ENTRIES_MAX receipts. */
  deleteBatch(receipts: readonly string[]): Promise<readonly SettlementResult[]>;
  /** Takes 1 to SQS_BATCH_ENTRIES_MAX changes. */
  changeVisibility(changes: readonly VisibilityChange[]): Promise<readonly SettlementResult[]>;
  facts(): Promise<QueueFacts>;
}

/** Both ends of a queue. */
export type Queue = QueueSender & QueueReceiver;
