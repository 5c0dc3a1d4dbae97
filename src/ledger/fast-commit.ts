// Fast commit: the commit of a held claim that only the fence can reject, because no object and no
// sink takes part. Its writes are known beforehand, so a store can do it in one conditional write.
// If that fails, the slow path runs the transition.

import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "../ports/record.ts";
import type { RecordItem } from "./ledger-calls.ts";
import { encodeEntries, logEntry } from "./record-log.ts";
import type { CommitEvent } from "./record-transitions.ts";

export interface FastCommit {
  readonly key: RecordKey;
  readonly fence: Fence;
  readonly digest: string;
  /** The column of the same name (record-columns.ts). */
  readonly detail: string | null;
  /** Appended to the record's log. */
  readonly added: string;
}

/** What to write for an item, or null if it needs the slow path. */
export function fastCommit(item: RecordItem, now: EpochMs): FastCommit | null {
  const { key, object, writes, call } = item;
  if (call.call !== "commit" || object !== null || writes.length > 0) return null;
  return claimCommit(key, call, now);
}

/** The commit of a held claim, for a store that sees to object and sink writes itself. */
export function claimCommit(
  key: RecordKey,
  { fence, digest, effects }: CommitEvent,
  now: EpochMs,
): FastCommit {
  const detail = effects === null ? null : JSON.stringify({ effects, superseded: false });
  return { key, fence, digest, detail, added: encodeEntries([logEntry("succeeded", fence, now)]) };
}
