// Late: records that were too late for their pipeline, listed and released.

import { type Progress, progressOf } from "../core/progress.ts";
import {
  type HeldFilter,
  heldQueueOf,
  type ListedHeld,
  listHeld,
  type ReleaseEvent,
  releaseHeld,
} from "../ingest/late/release.ts";
import type { Sources } from "./sources.ts";

export type { HeldFilter, ListedHeld, ReleaseEvent } from "../ingest/late/release.ts";

/** Options of `release`. */
export interface ReleaseRequest {
  /** Reports what would be released and changes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Records to release at most. Default: all that match. */
  readonly limit?: number | undefined;
  /** Stops after the current record. */
  readonly signal?: AbortSignal | undefined;
}

/** What a release did. A dry run releases nothing. */
export interface ReleaseSummary {
  readonly planned: number;
  readonly released: number;
  readonly refused: number;
}

/** The records that were too late. */
export interface LateRecords {
  /** Records that wait in the ledger, or were sent to the late queue. */
  list(selection?: HeldFilter): AsyncIterable<ListedHeld>;
  /** Sends held records back to their queue; they are processed in their recorded lane. */
  release(selection: HeldFilter, request?: ReleaseRequest): Progress<ReleaseEvent, ReleaseSummary>;
}

export function lateRecordsOf(sources: Sources): LateRecords {
  return {
    async *list(selection = {}) {
      const ledger = await sources.reader();
      for (const scope of await sources.scopes()) yield* listHeld(ledger, scope, selection);
    },
    release(selection, request = {}) {
      const counts = { planned: 0, released: 0, refused: 0 };
      return progressOf(release(sources, selection, request, counts), () => counts);
    },
  };
}

async function* release(
  sources: Sources,
  filter: HeldFilter,
  { dryRun = false, limit = Number.POSITIVE_INFINITY, signal }: ReleaseRequest,
  counts: Record<ReleaseEvent["kind"], number>,
): AsyncGenerator<ReleaseEvent, void> {
  const { clock, random } = sources;
  const [ledger, scope] = await Promise.all([sources.writer(), sources.scope("held")]);
  const queues = await sources.queues(() => heldQueueOf(ledger, scope));
  if (queues === null || limit < 1) return;
  const runId = random.uuid();
  const options = { scope, runId, filter, dryRun, ...(signal !== undefined && { signal }) };
  const events = releaseHeld({ clock, ledger, source: queues.queue }, options);
  let count = 0;
  for await (const event of events) {
    counts[event.kind] += 1;
    yield event;
    count += 1;
    if (count >= limit) return;
  }
}
