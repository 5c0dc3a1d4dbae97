// Plain commit: the commit of a held claim that only the fence can refuse, as no object and no sink
// has a say in it. What the law would write is known beforehand, so that a store may write it in
// one conditional step; what that refuses goes the law's way.

import type { EpochMs } from "../core/units.ts";
import type { Fence, RecordKey } from "../ports/record.ts";
import type { RecordItem } from "./ledger-calls.ts";
import { encodeEntries, logEntry } from "./record-log.ts";

export interface FastCommit {
  readonly key: RecordKey;
  readonly fence: Fence;
  readonly digest: string;
  /** The column of the same name (record-columns.ts). */
  readonly detail: string | null;
  /** Goes to the end of the record's log. */
  readonly added: string;
}

/** What to write for an item, or null where the law must be asked. */
export function fastCommit(item: RecordItem, now: EpochMs): FastCommit | null {
  const { key, object, writes, call } = item;
  if (call.call !== "commit" || object !== null || writes.length > 0) return null;
  const { fence, digest, effects } = call;
  const detail = effects === null ? null : JSON.stringify({ effects, superseded: false });
  return { key, fence, digest, detail, added: encodeEntries([logEntry("succeeded", fence, now)]) };
}
