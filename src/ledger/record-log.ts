// Record log: the append-only history of a record, kept in the record's own row so that outcome and
// entry are one write and can never disagree.
//   L1. An entry is named by (key, fence, seq); seq follows from its status, and each status occurs
//       at most once per fence.
//   L2. Encoded entries are lines of JSON, joined by "\n"; a store appends, it never rewrites.
//   L3. A log holds LOG_CHARS_MAX characters; beyond that the oldest entries go, whole.

import type { EpochMs } from "../core/units.ts";
import { epochMs } from "../core/units.ts";
import type { EntryStatus, Failure, Fence, LogEntry, RecordState } from "../ports/record.ts";
import { fenceOf, liveRecord } from "./record-state.ts";

/** An outcome ends its fence; only an operator's reopening may follow it. */
const SEQ_OF: Readonly<Record<EntryStatus, number>> = {
  received: 0,
  started: 1,
  succeeded: 2,
  failed: 2,
  released: 2,
  superseded: 2,
  reopened: 3,
};

/** Some forty attempts with long messages. */
export const LOG_CHARS_MAX = 32_768;

export function logEntry(
  status: EntryStatus,
  fence: Fence,
  at: EpochMs,
  more: { readonly owner?: string; readonly failure?: Failure } = {},
): LogEntry {
  const { owner = null, failure = null } = more;
  return { fence, seq: SEQ_OF[status], status, at, owner, failure };
}

/** One line per entry, each ended by a newline, ready to append. */
export function encodeEntries(entries: readonly LogEntry[]): string {
  let text = "";
  for (const { status, fence, at, owner, failure } of entries) {
    if (failure !== null) {
      const { errorClass, fingerprint, message } = failure;
      text += JSON.stringify([status, fence, at, owner, errorClass, fingerprint, message]);
    } else if (owner !== null) text += `["${status}",${fence},${at},${JSON.stringify(owner)}]`;
    else text += `["${status}",${fence},${at}]`;
    text += "\n";
  }
  return text;
}

export function decodeEntries(log: string): LogEntry[] {
  const entries: LogEntry[] = [];
  for (const line of log.split("\n")) {
    if (line === "") continue;
    const [status, fence, at, owner = null, errorClass, fingerprint, message] = JSON.parse(line);
    const failure = errorClass === undefined ? null : { errorClass, fingerprint, message };
    const seq = SEQ_OF[status as EntryStatus];
    entries.push({ fence: fenceOf(fence), seq, status, at: epochMs(at), owner, failure });
  }
  return entries;
}

/** The log with `added` at its end, shortened at its beginning if it grew too long (L3). */
export function appendToLog(log: string, added: string): string {
  const whole = log + added;
  if (whole.length <= LOG_CHARS_MAX) return whole;
  const cut = whole.indexOf("\n", whole.length - LOG_CHARS_MAX);
  return cut === -1 || cut === whole.length - 1 ? added : whole.slice(cut + 1);
}

/** The log of a record after a step; what had expired is forgotten with its log. */
export function grownLog(
  found: { readonly record: RecordState; readonly log: string } | null | undefined,
  entries: readonly LogEntry[],
  now: EpochMs,
): string {
  const live = found != null && liveRecord(found.record, now).kind !== "absent";
  return appendToLog(live ? found.log : "", encodeEntries(entries));
}
