// Batch calls: the methods of a batch store, on top of what each store does in its own way.
//   C1. The store decides nothing: it reads a batch, applies the step, and saves it atomically.
//   C2. Done items are counted before the step that completes a batch. They never decrease, so the
//       count cannot be too high.

import type { DurationMs, EpochMs } from "../../core/units.ts";
import { addMs } from "../../core/units.ts";
import type { BatchStore, ExpectedItem, JobBatch, NamePage } from "../../ports/batches.ts";
import type { LedgerInstant } from "../store-time.ts";
import {
  checkBatchInput,
  checkBatchItems,
  checkBatchName,
  liveBatch,
  stepComplete,
  stepOpen,
  stepSeal,
} from "./batch-transitions.ts";

/** What is saved, and what the caller gets. */
export interface BatchDecision<T> {
  readonly save: JobBatch | null;
  readonly result: T;
}

/** What a store offers; every method is durable when it resolves. */
export interface BatchRows {
  /** Reads the batch, decides, and saves the decision in one atomic step (C1). */
  decide<T>(
    target: string,
    name: string,
    step: (stored: JobBatch | undefined, at: LedgerInstant) => BatchDecision<T>,
  ): Promise<T>;
  /** Adds items that are missing. */
  add(id: string, items: readonly ExpectedItem[], expiresAt: EpochMs): Promise<void>;
  open(id: string, page: NamePage): Promise<ExpectedItem[]>;
  /** Marks items done that were added; those that were not are ignored. */
  done(id: string, items: readonly ExpectedItem[], expiresAt: EpochMs): Promise<void>;
  countDone(id: string): Promise<number>;
  find(target: string, name: string): Promise<JobBatch | undefined>;
  list(target: string, page: NamePage & { readonly expiry: EpochMs }): Promise<JobBatch[]>;
  /** The time by which batches expire. */
  time(): LedgerInstant;
}

export function batchCalls(rows: BatchRows, retentionMs: DurationMs): BatchStore {
  const untilExpiry = () => addMs(rows.time().now, retentionMs);
  return {
    async openBatch(target, input) {
      checkBatchInput(input);
      return await rows.decide(target, input.name, (stored, at) =>
        stepOpen(stored, input, { ...at, retentionMs }),
      );
    },
    async addBatchItems(id, items) {
      checkBatchItems(items);
      if (items.length > 0) await rows.add(id, items, untilExpiry());
    },
    sealBatch: (target, name, id) =>
      rows.decide(target, name, (stored, at) => saved(stored, stepSeal(stored, id, at))),
    openBatchItems: (id, page) => rows.open(id, page),
    async markItemsDone(id, items) {
      checkBatchItems(items);
      if (items.length > 0) await rows.done(id, items, untilExpiry());
    },
    countDoneItems: (id) => rows.countDone(id),
    async completeBatch(target, name, id) {
      const done = await rows.countDone(id); // C2
      return await rows.decide(target, name, (stored, at) =>
        saved(stored, stepComplete(stored, id, done, at)),
      );
    },
    async findBatch(target, name) {
      checkBatchName(name);
      return liveBatch(await rows.find(target, name), rows.time().expiry);
    },
    listBatches: (target, page) => rows.list(target, { ...page, expiry: rows.time().expiry }),
  };
}

/** A step that changes nothing saves nothing. */
function saved(
  stored: JobBatch | undefined,
  step: JobBatch | null,
): BatchDecision<JobBatch | undefined> {
  return { save: step === stored ? null : step, result: step ?? undefined };
}
