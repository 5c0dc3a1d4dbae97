// Dead-letter filter: which dead letters are meant, and how they are counted together.
//   D1. What is not named by the filter is not touched. A filter that says nothing means all.
//   D2. Keys and fingerprints may be shortened, but not so far that they name others by chance.

import type { DurationMs, EpochMs } from "../../core/units.ts";

/** Classes of what has no failure written down: no runtime gave up on it. */
export const BACK_STOP_CLASS = "back-stop";
export const UNKNOWN_CLASS = "unknown";

/** What a dead letter is chosen by. */
export interface DeadLetterFacts {
  readonly errorClass: string;
  readonly fingerprint: string;
  /** Names of the records in it: keys of the ledger and idempotency keys. */
  readonly keys: readonly string[];
  /** As `s3://bucket/key`. */
  readonly objects: readonly string[];
  readonly failedAt: EpochMs;
}

/** All that is given has to hold. */
export interface DeadLetterFilter {
  readonly errorClass?: string | undefined;
  /** Whole, or its beginning (D2). */
  readonly fingerprint?: string | undefined;
  /** A key, or its beginning (D2), or any part of `s3://bucket/key`. */
  readonly key?: string | undefined;
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
  const { errorClass, fingerprint, key, olderThanMs, newerThanMs } = filter;
  const ageMs = now - facts.failedAt;
  if (errorClass !== undefined && facts.errorClass !== errorClass) return false;
  if (fingerprint !== undefined && !begins(facts.fingerprint, fingerprint, FINGERPRINT_CHARS_MIN)) {
    return false;
  }
  if (key !== undefined && !names(facts, key)) return false;
  if (olderThanMs !== undefined && ageMs <= olderThanMs) return false;
  return newerThanMs === undefined || ageMs <= newerThanMs;
}

function names({ keys, objects }: DeadLetterFacts, wanted: string): boolean {
  if (keys.some((key) => begins(key, wanted, KEY_CHARS_MIN))) return true;
  return wanted !== "" && objects.some((object) => object.includes(wanted));
}

/** Whether `part` is all of `whole`, or a beginning that is long enough (D2). */
function begins(whole: string, part: string, charsMin: number): boolean {
  return whole === part || (part.length >= charsMin && whole.startsWith(part));
}

export interface DeadLetterGroup {
  readonly fingerprint: string;
  readonly errorClass: string;
  readonly count: number;
  readonly oldestAt: EpochMs;
  readonly newestAt: EpochMs;
  /** What the newest of them said. */
  readonly message: string;
}

/** Counts what failed of the same cause, the most frequent first. */
export function groupByFingerprint(
  letters: readonly (DeadLetterFacts & { readonly message: string })[],
): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const { errorClass, fingerprint, failedAt, message } of letters) {
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
