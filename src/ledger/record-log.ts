// Record log: the append-only history of a record, stored in the record's own row, so that outcome
// and log entry are one write and always agree.
//   L1. An entry is identified by (key, fence, seq); seq follows from its status, and each status
//       occurs at most once per fence.
//   L2. Encoded entries are lines of JSON, joined by "\n"; a store appends and never rewrites.
//   L3. A log has at most LOG_CHARS_MAX characters; beyond that the oldest entries are dropped,
//       whole.

import type { EpochMs } from "../core/units.ts";
import { epochMs } from "../core/units.ts";
import type { EntryStatus, Failure, Fence, LogEntry, RecordState } from "../ports/record.ts";
import { fenceOf, liveRecord } from "./record-state.ts";

/** An outcome ends its fence; only a reopening by an operator may follow it. */
const SEQ_OF: Readonly<Record<EntryStatus, number>> = {
  received: 0,
  started: 1,
  succeeded: 2,
  failed: 2,
  released: 2,
  superseded: 2,
  reopened: 3,
};

/** Enough for about forty attempts with long messages. */
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

/** One line per entry, each with a newline, ready to append. */
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

/** The log with `added` at its end, truncated at its start if it is too long (L3). */
export function appendToLog(log: string, added: string): string {
  const whole = log + added;
  if (whole.length <= LOG_CHARS_MAX) return whole;
  const cut = whole.indexOf("\n", whole.length - LOG_CHARS_MAX);
  return cut === -1 || cut === whole.length - 1 ? added : whole.slice(cut + 1);
}

/** The log of a record after a transition; an expired record's log is dropped. */
export function grownLog(
  stored: { readonly record: RecordState; readonly log: string } | null | undefined,
  entries: readonly LogEntry[],
  expiry: EpochMs,
): string {
  const live = stored != null && liveRecord(stored.record, expiry).kind !== "absent";
  return appendToLog(live ? stored.log : "", encodeEntries(entries));
}
