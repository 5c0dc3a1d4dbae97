// Batcher: selects which of the waiting messages go into the next request. Pure.
//   T1. A batch stays within the target's limits on entries and bytes.
//   T2. Entries of a batch succeed and fail one by one. A failed entry must be retried without
//       being overtaken, so a batch has one entry per group, or as many as the caller allows.
//       A group with an entry in flight has no entry in another batch.
//   T3. Within a group, messages never overtake: once one has to wait, all later ones wait.

import type { SendLimits } from "../ports/queue.ts";

export interface Sendable {
  /** The group whose order it must keep; null if order does not matter. */
  readonly orderedBy: string | null;
  readonly bytes: number;
}

/** Indexes of the next batch, in order; empty if all messages have to wait. */
export function selectBatch(
  waiting: readonly Sendable[],
  busyGroups: ReadonlySet<string>,
  limits: SendLimits & { readonly entriesPerGroupMax: number },
): number[] {
  const chosen: number[] = [];
  const closed = new Set<string>();
  const perGroup = new Map<string, number>();
  let bytesLeft = limits.batchBytesMax;
  for (const [at, { orderedBy, bytes }] of waiting.entries()) {
    if (chosen.length >= limits.entriesMax) break; // T1
    if (orderedBy !== null && (busyGroups.has(orderedBy) || closed.has(orderedBy))) continue;
    if (bytes > bytesLeft) {
      if (orderedBy !== null) closed.add(orderedBy); // T3
      continue;
    }
    chosen.push(at);
    bytesLeft -= bytes;
    if (orderedBy === null) continue;
    const count = (perGroup.get(orderedBy) ?? 0) + 1;
    perGroup.set(orderedBy, count);
    if (count >= limits.entriesPerGroupMax) closed.add(orderedBy); // T2
  }
  return chosen;
}
