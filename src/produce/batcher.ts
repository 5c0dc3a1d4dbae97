// Batcher: which of the waiting messages go into the next request. Pure.
//   T1. A batch keeps to the target's limits: entries and bytes.
//   T2. Entries of a batch succeed and fail one by one. So that a failure can be repeated without
//       overtaking, a batch holds one entry of a group (or as many as the caller says it can bear),
//       and a group with an entry under way has none in another batch.
//   T3. Within a group, nobody is passed over: once one has to wait, so do all behind it.

import type { SendLimits } from "../ports/queue.ts";

export interface Sendable {
  /** Null when order means nothing to it. */
  readonly orderedBy: string | null;
  readonly bytes: number;
}

/** Positions of the next batch, in order; empty when all have to wait. */
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
