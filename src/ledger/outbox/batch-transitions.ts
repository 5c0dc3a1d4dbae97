// Batch transitions: the state machine of one batch, which every store follows.
//
//   absent ──open──> registering ──seal──> sealed ──complete──> complete
//      ^                  │                   │
//      └──── expiry ──────┴─── open, replace ─┴──> registering, under another id
//
//   H1. The set of items is fixed by `open`, before the first item is stored. Only callers with the
//       same digest get the id, so the stored items are always a subset of the set.
//   H2. A batch is sealed once all items are stored. Before that it is never complete, even if all
//       items that are stored so far are done.
//   H3. The id is a fence: a registration that was replaced can no longer seal or complete.
//   H4. Complete is final: it needs as many done items as the batch has, and is never taken back.
//       A complete batch is not replaced.
//   H5. A batch is kept for the retention from its opening, its items from their storing. So items
//       outlive their batch, and expiry never makes a batch look complete.
//
// If the process dies:
//
//   before `open`          nothing is stored
//   after `open`           the batch is registering; the same items continue it, others conflict
//   between two pages      the same; rows of stored jobs are in the outbox, and a relay sends them
//   before `seal`          the same, although all items are stored
//   after `seal`           the batch is registered; a relay sends rows that are still pending
//   after a consumer's     the item is open until the next check finds the commit in the ledger
//     commit
//   before `complete`      the next check counts again and completes it

import { utf8ByteLength } from "../../core/encoding/text.ts";
import { TidegateError } from "../../core/errors.ts";
import { addMs, type DurationMs, type EpochMs } from "../../core/units.ts";
import type { BatchInput, ExpectedItem, JobBatch, OpenBatchResult } from "../../ports/batches.ts";
import type { LedgerInstant } from "../store-time.ts";

/** Bytes of a batch's name. */
export const BATCH_NAME_BYTES_MAX = 512;
/** Items of one batch. */
export const BATCH_ITEMS_MAX = 1_000_000;
/** Items of one call. */
export const BATCH_PAGE_MAX = 1_000;

export interface OpenStep {
  readonly result: OpenBatchResult;
  readonly save: JobBatch | null;
}

/** The batch, unless it has expired. */
export function liveBatch(batch: JobBatch | undefined, expiry: EpochMs): JobBatch | undefined {
  return batch === undefined || batch.expiresAt <= expiry ? undefined : batch;
}

export function stepOpen(
  stored: JobBatch | undefined,
  input: BatchInput,
  at: LedgerInstant & { readonly retentionMs: DurationMs },
): OpenStep {
  const batch = liveBatch(stored, at.expiry);
  if (batch !== undefined && isSameSet(batch, input)) {
    return { result: { kind: "opened", batch }, save: null }; // H1
  }
  if (batch !== undefined && (!input.replace || batch.completedAt !== null)) {
    return { result: { kind: "conflict", batch }, save: null }; // H4
  }
  const { name, id, itemCount, digest } = input;
  const opened: JobBatch = {
    name,
    id,
    itemCount,
    digest,
    openedAt: at.now,
    sealedAt: null,
    completedAt: null,
    expiresAt: addMs(at.now, at.retentionMs),
  };
  return { result: { kind: "opened", batch: opened }, save: opened };
}

function isSameSet(batch: JobBatch, { itemCount, digest }: BatchInput): boolean {
  return batch.itemCount === itemCount && batch.digest === digest;
}

/** The sealed batch; null if it has another id or is gone (H3). */
export function stepSeal(
  stored: JobBatch | undefined,
  id: string,
  { now, expiry }: LedgerInstant,
): JobBatch | null {
  const batch = liveBatch(stored, expiry);
  if (batch === undefined || batch.id !== id) return null; // H3
  return batch.sealedAt === null ? { ...batch, sealedAt: now } : batch; // H2
}

/** The complete batch; null if it is not sealed, has open items, or has another id. */
export function stepComplete(
  stored: JobBatch | undefined,
  id: string,
  done: number,
  { now, expiry }: LedgerInstant,
): JobBatch | null {
  const batch = liveBatch(stored, expiry);
  if (batch === undefined || batch.id !== id || batch.sealedAt === null) return null; // H2, H3
  if (batch.completedAt !== null) return batch; // H4
  return done === batch.itemCount ? { ...batch, completedAt: now } : null; // H4
}

/** Throws TG_VALUE_INVALID if no store could keep a batch of that name. */
export function checkBatchName(name: unknown): void {
  const problem = nameProblem(name);
  if (problem !== null) throw invalid(`the batch name ${JSON.stringify(name)} ${problem}`);
}

function nameProblem(name: unknown): string | null {
  if (typeof name !== "string") return "is not a text";
  if (name.trim() === "") return "is empty";
  if (!name.isWellFormed()) return "contains a lone surrogate";
  if (name.includes("\0")) return "contains a NUL character";
  if (utf8ByteLength(name) <= BATCH_NAME_BYTES_MAX) return null;
  return `is longer than ${BATCH_NAME_BYTES_MAX} bytes`;
}

/** Throws TG_VALUE_INVALID before anything is written. */
export function checkBatchItems(items: readonly ExpectedItem[]): void {
  if (items.length > BATCH_PAGE_MAX) {
    throw invalid(`${items.length} items in one call; at most ${BATCH_PAGE_MAX} are accepted`);
  }
  const bad = items.find(({ name }) => name === "" || name.includes("\0") || !name.isWellFormed());
  if (bad !== undefined) {
    throw invalid(`${JSON.stringify(bad.name)} cannot be the name of a batch's item`);
  }
}

export function checkBatchInput({ name, itemCount }: BatchInput): void {
  checkBatchName(name);
  if (itemCount <= BATCH_ITEMS_MAX) return;
  throw invalid(`a batch of ${itemCount} items; at most ${BATCH_ITEMS_MAX} are accepted`);
}

function invalid(message: string): TidegateError {
  return new TidegateError("TG_VALUE_INVALID", message);
}
