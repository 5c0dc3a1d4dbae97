// QueueSender: where messages leave to. A topic is the same seam (ports/topic.ts).
//   Q1. Answers come in the order of the messages, one each.
//   Q2. A call that fails with TG_QUEUE_UNAVAILABLE may have been carried out, wholly or in part:
//       whoever repeats it needs deduplication. One that fails with TG_QUEUE_REFUSED was not.
//   Q3. An answer "sent" says that the queue took the message or recognised it as a duplicate;
//       SQS does not tell the sender which.

/** A message as it leaves, attributes all of type String. */
export interface OutgoingMessage {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly groupId: string | null;
  /** Null on standard queues and topics, which deduplicate nothing. */
  readonly dedupId: string | null;
}

export type SendOutcome =
  | { readonly kind: "sent"; readonly messageId: string; readonly sequenceNumber: string | null }
  | {
      readonly kind: "refused";
      readonly code: string;
      readonly message: string;
      /** "never" is the sender's fault: the same message will be refused for ever. */
      readonly retry: "never" | "later";
    };

export interface SendLimits {
  readonly entriesMax: number;
  readonly messageBytesMax: number;
  /** All messages of one call together. */
  readonly batchBytesMax: number;
}

export interface QueueSender {
  readonly kind: "queue";
  /** Names the target in outboxes, so it must not change when an endpoint does. */
  readonly name: string;
  readonly fifo: boolean;
  readonly limits: SendLimits;
  /** Sends 1 to `entriesMax` messages in one request. */
  sendBatch(messages: readonly OutgoingMessage[]): Promise<readonly SendOutcome[]>;
}
