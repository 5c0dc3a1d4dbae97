// QueueReceiver: where deliveries come from and where they are settled.
//   V1. What `receive` hands over is hidden from all others for `visibilityMs`, counted from before
//       the call returned. A receive that is aborted resolves at once, as a rule with nothing; it
//       may have taken messages, which come back by themselves when that time is over.
//   V2. Answers to settlements come in the order asked, one each. "gone" says that the receipt
//       means nothing any more: the message was deleted, or its time ran out and another has it.
//   V3. A call that fails with TG_QUEUE_UNAVAILABLE may have been carried out, wholly or in part.
//       Deleting, or changing the visibility, once more is safe.

import type { DurationMs, EpochMs } from "../core/units.ts";
import type { QueueSender } from "./queue.ts";

/** One handing-over of a message. */
export interface Delivery {
  readonly messageId: string;
  /** What this handing-over is settled by; the next one has another. */
  readonly receipt: string;
  readonly body: string;
  /** Those that are text; others are left out. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The system attribute AWSTraceHeader. */
  readonly traceHeader: string | null;
  readonly groupId: string | null;
  /** What a FIFO queue knows its copies by; null or left out on others. */
  readonly dedupId?: string | null;
  readonly sentAt: EpochMs;
  /** 1 for the first; grows with every delivery, whatever came of it. */
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
  /** From now on; 0 hands the message to whoever asks next. */
  readonly visibilityMs: DurationMs;
}

/** How a queue is set up, as far as a consumer depends on it. */
export interface QueueFacts {
  readonly arn: string;
  readonly visibilityMs: DurationMs;
  readonly retentionMs: DurationMs;
  /** How long its receives wait by default. */
  readonly waitMs: DurationMs;
  /** The longest message that it takes, attributes and all. */
  readonly messageBytesMax: number;
  readonly redrive: { readonly deadLetterArn: string; readonly maxReceiveCount: number } | null;
  readonly visible: number;
  readonly hidden: number;
  readonly delayed: number;
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
