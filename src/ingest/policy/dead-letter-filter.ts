// Dead-letter filter: selects dead letters and groups them by cause.
//   D1. A dead letter that the filter does not match is not touched. An empty filter matches all.
//   D2. Keys and fingerprints may be abbreviated to a prefix that is long enough not to match
//       others by accident.
//   D3. A business key is found by the identity that follows from it, because a dead letter does
//       not show it.

import { ownIdentities } from "../../core/events/own-message.ts";
import type { DurationMs, EpochMs } from "../../core/units.ts";

/** Classes of dead letters without a stored failure: no consumer dead-lettered them. */
export const BACK_STOP_CLASS = "back-stop";
export const UNKNOWN_CLASS = "unknown";

/** The properties that a filter compares. */
export interface DeadLetterFacts {
  readonly pipeline: string;
  readonly errorClass: string;
  readonly fingerprint: string;
  /** Ledger keys and idempotency keys of the records in the message. */
  readonly keys: readonly string[];
  /** As `s3://bucket/key`. */
  readonly objects: readonly string[];
  readonly failedAt: EpochMs;
}

/** A dead letter has to match every field that is set. */
export interface DeadLetterFilter {
  readonly errorClass?: string | undefined;
  /** The fingerprint or a prefix of it (D2). */
  readonly fingerprint?: string | undefined;
  /** A key or a prefix of it (D2), any part of `s3://bucket/key`, or a whole business key (D3). */
  readonly key?: string | undefined;
  /** Only records with one of these ledger or idempotency keys. */
  readonly keys?: ReadonlySet<string> | undefined;
  /** Failed longer ago than this. */
  readonly olderThanMs?: DurationMs | undefined;
  /** Failed no longer ago than this. */
  readonly newerThanMs?: DurationMs | undefined;
}

/** `k1:` and eight digits. */
const KEY_CHARS_MIN = 11;
const FINGERPRINT_CHARS_MIN = 4;

export function matchesFilter(
  facts: DeadLetterFacts,
  filter: DeadLetterFilter,
  now: EpochMs,
): boolean {
  const { errorClass, fingerprint, key, keys, olderThanMs, newerThanMs } = filter;
  const ageMs = now - facts.failedAt;
  if (errorClass !== undefined && facts.errorClass !== errorClass) return false;
  if (
    fingerprint !== undefined &&
    !isPrefix(facts.fingerprint, fingerprint, FINGERPRINT_CHARS_MIN)
  ) {
    return false;
  }
  if (key !== undefined && !matchesKey(facts, key)) return false;
  if (keys !== undefined && !facts.keys.some((each) => keys.has(each))) return false;
  if (olderThanMs !== undefined && ageMs <= olderThanMs) return false;
  return newerThanMs === undefined || ageMs <= newerThanMs;
}

function matchesKey({ pipeline, keys, objects }: DeadLetterFacts, wanted: string): boolean {
  if (keys.some((key) => isPrefix(key, wanted, KEY_CHARS_MIN))) return true;
  if (ownIdentities(pipeline, wanted).some((each) => keys.includes(each))) return true; // D3
  return wanted !== "" && objects.some((object) => object.includes(wanted));
}

/** Whether `part` equals `whole` or is a prefix that is long enough (D2). */
function isPrefix(whole: string, part: string, charsMin: number): boolean {
  return whole === part || (part.length >= charsMin && whole.startsWith(part));
}

/** Dead letters that failed for the same cause. */
export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly errorClass: string;
  readonly count: number;
  readonly oldestAt: EpochMs;
  readonly newestAt: EpochMs;
  /** Message of the newest failure. */
  readonly message: string;
}

/** Groups dead letters that failed for the same cause, the largest group first. */
export function groupByFingerprint(
  deadLetters: readonly (Pick<DeadLetterFacts, "errorClass" | "fingerprint" | "failedAt"> & {
    readonly message: string;
  })[],
): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const { errorClass, fingerprint, failedAt, message } of deadLetters) {
    const id = `${errorClass} ${fingerprint}`;
    const group = groups.get(id);
    const newest = group === undefined || failedAt >= group.newestAt;
    groups.set(id, {
      fingerprint,
      errorClass,
      count: (group?.count ?? 0) + 1,
      oldestAt: group === undefined || failedAt < group.oldestAt ? failedAt : group.oldestAt,
      newestAt: newest ? failedAt : group.newestAt,
      message: newest ? message : group.message,
    });
  }
  return [...groups.values()].toSorted(
    (left, right) => right.count - left.count || right.newestAt - left.newestAt,
  );
}
