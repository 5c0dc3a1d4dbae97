// Step: everything that an operation may use while it runs. The model learns of the world only
// through it, so the same operations in the same order always give the same results.

import type { EpochMs } from "../../core/units.ts";
import type { Change, MessageContent } from "../../ports/broker/broker-change.ts";
import type { ObjectReads } from "../../ports/broker/object-change.ts";

export interface ModelStep {
  /** The same instant for the whole step, never earlier than that of the previous step. */
  readonly now: EpochMs;
  /** Records a change; all changes of a step are committed together. */
  emit(change: Change): void;
  /** A fresh message id. */
  newId(): string;
  /** The content of a message in a queue or archive. */
  read(seq: number): MessageContent;
  /** Whether the step has read and written as much text as one commit should hold. */
  readonly isFull: boolean;
  /** Whether messages may be delivered: the step is not full, and clients read their replies. */
  readonly mayDeliver: boolean;
  /** Objects in buckets, including the changes of earlier steps. */
  readonly objects: ObjectReads;
}
