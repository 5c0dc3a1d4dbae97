// Step: what one operation may use while it runs. Everything a model knows of the world comes
// through here, so that the same operations in the same order always give the same answers.

import type { Change, MessageContent } from "../../core/broker-change.ts";
import type { ObjectReads } from "../../core/object-change.ts";
import type { EpochMs } from "../../core/units.ts";

export interface ModelStep {
  /** The same instant for the whole step, never earlier than that of the step before. */
  readonly now: EpochMs;
  /** What must be remembered; all changes of a step are committed together. */
  emit(change: Change): void;
  /** A fresh message id. */
  newId(): string;
  /** The content of a waiting message. */
  read(seq: number): MessageContent;
  /** Objects in buckets, with what earlier steps have changed. */
  readonly objects: ObjectReads;
}
