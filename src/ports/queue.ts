// QueueSender: the target of messages. A topic has the same interface (ports/topic.ts).
//   Q1. Results come in the order of the messages, one each.
//   Q2. A call that fails with TG_QUEUE_UNAVAILABLE may have been carried out, fully or partly: a
//       caller that repeats it needs deduplication. One that fails with TG_QUEUE_REFUSED was not
//       carried out.
//   Q3. A result "sent" means that the queue accepted the message or recognised it as a duplicate;
//       SQS does not report which.

/** A message to send; all attributes have the type String. */
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
      /** "never" is the sender's fault: the same message will always be refused. */
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
  /** Identifies the target in outboxes, so it must not change when an endpoint does. */
  readonly name: string;
  readonly fifo: boolean;
  readonly limits: SendLimits;
  /** Sends 1 to `entriesMax` messages in one request. */
  sendBatch(messages: readonly OutgoingMessage[]): Promise<readonly SendOutcome[]>;
}
