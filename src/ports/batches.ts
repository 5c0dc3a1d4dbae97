// Batches: named sets of jobs, and which of their items are not done yet. An outbox stores them;
// every store follows the state machine in ledger/outbox/batch-transitions.ts.
//   B1. A call is durable when it resolves, and repeating it after a lost response is safe.
//   B2. Items belong to the id of a batch, not to its name. A batch that is replaced or that
//       expired leaves nothing behind in its successor.
//   B3. An item that is done stays done, also if it is added again.

import type { EpochMs } from "../core/units.ts";

/** One expected item of a batch. */
export interface ExpectedItem {
  /** What people call it, such as a file id; unique in its batch. */
  readonly name: string;
  /** The key of its row in the outbox. */
  readonly key: string;
}

/** A batch as stored, without its items. */
export interface JobBatch {
  readonly name: string;
  /** Identifies one registration (B2). */
  readonly id: string;
  readonly itemCount: number;
  /** Identifies the set of items, in any order. */
  readonly digest: string;
  readonly openedAt: EpochMs;
  /** When all items were stored; null while they are being registered. */
  readonly sealedAt: EpochMs | null;
  /** When all items were done; null before. */
  readonly completedAt: EpochMs | null;
  readonly expiresAt: EpochMs;
}

export interface BatchInput {
  readonly name: string;
  /** A new id; used if this call stores the batch. */
  readonly id: string;
  readonly itemCount: number;
  readonly digest: string;
  /** Replaces a batch of other items, unless that is complete. */
  readonly replace: boolean;
}

export type OpenBatchResult =
  /** The batch has these items; another process may have stored it first. */
  | { readonly kind: "opened"; readonly batch: JobBatch }
  /** The batch has other items; nothing was changed. */
  | { readonly kind: "conflict"; readonly batch: JobBatch };

/** One page of a list, in the byte order of names. */
export interface NamePage {
  /** The last name of the previous page; null for the first page. */
  readonly after: string | null;
  readonly limit: number;
}

/** The batches of an outbox, by target and name. */
export interface BatchStore {
  openBatch(target: string, input: BatchInput): Promise<OpenBatchResult>;
  /** Stores items of a batch that is open; safe from several processes at once. */
  addBatchItems(id: string, items: readonly ExpectedItem[]): Promise<void>;
  /** Records that all items are stored. Undefined if the batch has another id by now. */
  sealBatch(target: string, name: string, id: string): Promise<JobBatch | undefined>;
  /** Items that are not marked done, in the byte order of names. */
  openBatchItems(id: string, page: NamePage): Promise<ExpectedItem[]>;
  markItemsDone(id: string, items: readonly ExpectedItem[]): Promise<void>;
  countDoneItems(id: string): Promise<number>;
  /** Marks a sealed batch complete if all its items are done; undefined if they are not. */
  completeBatch(target: string, name: string, id: string): Promise<JobBatch | undefined>;
  findBatch(target: string, name: string): Promise<JobBatch | undefined>;
  /** Batches that have not expired. */
  listBatches(target: string, page: NamePage): Promise<JobBatch[]>;
}
