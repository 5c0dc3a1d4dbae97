// Object listing: keys in the order of their UTF-8 bytes, grouped at a delimiter.
//   L1. Every listed item, key or common prefix, is strictly greater than `after`, so the next page
//       starts after the last item of a page.
//   L2. A common prefix is one item, whatever is below it: after a few rows the walk jumps over the
//       rest. A jump is a search in the store, which costs as much as a few rows.
//   L3. Reading one key costs one row, however many versions it has, except in a listing of
//       versions.

import { compareUtf8 } from "../../../core/encoding/utf8-order.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { KeyPosition } from "../../../ports/broker/object-change.ts";
import type { BrokerState } from "../broker-state.ts";
import type { ModelStep } from "../step.ts";
import { type BucketRecord, bucketOf } from "./bucket.ts";
import { checkVersionId, seqOfVersionId } from "./object-versions.ts";
import type { S3Fault } from "./s3-fault.ts";
import type { Listed, ListedVersion, ListInput, S3Input, S3Value } from "./s3-operations.ts";

/**
 * Greater than every key that begins with a prefix, except for keys that contain this very
 * character.
 */
const LAST_CHARACTER = "\u{10ffff}";
/** Rows of one key that a walk over newest versions skips before it jumps. */
const OLDER_ROWS_MAX = 8;
/** Rows below one common prefix that a walk skips before it jumps (L2). */
const ROLLED_ROWS_MAX = 8;

interface Keyed {
  readonly key: string;
}

/** What the walk does with one row. */
type Visit<T> = (row: T) => "take" | "pass" | "leap";

interface Walked<T> {
  readonly entries: T[];
  readonly prefixes: string[];
  readonly more: boolean;
  /** The last item, key or prefix. */
  readonly last: string;
}

/** One page of rows in key order (L1, L2). */
export function walk<T extends Keyed>(
  input: Pick<ListInput, "prefix" | "delimiter" | "limit">,
  start: KeyPosition,
  rowsFrom: (from: KeyPosition) => Iterable<T>,
  visit: Visit<T>,
  after: string,
): Walked<T> {
  const { prefix, delimiter, limit } = input;
  const entries: T[] = [];
  const prefixes: string[] = [];
  let last = "";
  let passed = 0;
  let from: KeyPosition | null = start;
  while (from !== null) {
    const rows: Iterable<T> = rowsFrom(from);
    from = null;
    for (const row of rows) {
      if (!row.key.startsWith(prefix)) {
        // The start skips keys before the prefix; the rest are behind it.
        return { entries, prefixes, more: false, last };
      }
      const rolled = rollUp(row.key, prefix, delimiter);
      const verdict = visit(row);
      if (verdict === "leap") {
        from = { key: row.key, after: true };
        break;
      }
      if (verdict === "pass") continue;
      if (rolled !== null && (prefixes.at(-1) === rolled || compareUtf8(rolled, after) <= 0)) {
        passed += 1;
        if (passed <= ROLLED_ROWS_MAX) continue;
        from = { key: rolled + LAST_CHARACTER, after: true }; // L2
        if (compareUtf8(from.key, row.key) > 0) break;
        from = null;
        continue;
      }
      if (entries.length + prefixes.length >= limit) return { entries, prefixes, more: true, last };
      last = rolled ?? row.key;
      passed = 0;
      if (rolled === null) entries.push(row);
      else prefixes.push(rolled);
    }
  }
  return { entries, prefixes, more: false, last };
}

/** The common prefix that represents a key, or null if the key is listed itself. */
function rollUp(key: string, prefix: string, delimiter: string): string | null {
  if (delimiter === "") return null;
  const at = key.indexOf(delimiter, prefix.length);
  return at === -1 ? null : key.slice(0, at + delimiter.length);
}

/** The start of a listing: behind `after`, but not before the prefix. */
export function startOf(prefix: string, after: string): KeyPosition {
  if (after === "" || compareUtf8(after, prefix) < 0) return { key: prefix, after: false };
  return { key: after, after: true };
}

export function stepListObjects(
  state: BrokerState,
  step: ModelStep,
  input: ListInput,
): Result<S3Value<"listObjects">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  let lastKey: string | null = null;
  let older = 0;
  const walked = walk(
    input,
    startOf(input.prefix, input.after),
    (from) => step.objects.entries(bucket.number, from),
    (row) => {
      if (row.key === lastKey) {
        older += 1;
        return older > OLDER_ROWS_MAX ? "leap" : "pass"; // L3
      }
      lastKey = row.key;
      older = 0;
      return row.marker ? "pass" : "take";
    },
    input.after,
  );
  return succeed(pageOf(walked));
}

function pageOf<T>({ entries, prefixes, more, last }: Walked<T>): Listed<T> {
  return { entries, prefixes, next: more ? last : null };
}

export function stepListObjectVersions(
  state: BrokerState,
  step: ModelStep,
  input: S3Input<"listObjectVersions">,
): Result<S3Value<"listObjectVersions">, S3Fault> {
  const bucketResult = bucketOf(state, input.bucket);
  if (!bucketResult.ok) return bucketResult;
  const bucket = bucketResult.value;
  const { prefix, after, afterVersion } = input;
  const bad = afterVersion === null ? null : checkVersionId(afterVersion, "version-id-marker");
  if (bad !== null) return bad;
  const stoppedAt = stopOf(step, bucket, input);
  const start = stoppedAt === null ? startOf(prefix, after) : { key: after, after: false };
  let lastKey: string | null = null;
  const latest = new Set<number>();
  const walked = walk(
    input,
    start,
    (from) => step.objects.entries(bucket.number, from),
    (row) => {
      const alreadyListed = stoppedAt !== null && row.key === after && row.seq >= stoppedAt;
      if (!alreadyListed && row.key !== lastKey) latest.add(row.seq);
      lastKey = row.key;
      return alreadyListed ? "pass" : "take";
    },
    after,
  );
  const entries: ListedVersion[] = walked.entries.map((entry) => ({
    ...entry,
    latest: latest.has(entry.seq),
  }));
  const lastEntry = entries.at(-1);
  const nextVersion = walked.more && lastEntry?.key === walked.last ? lastEntry.version : null;
  return succeed({ ...pageOf({ ...walked, entries }), nextVersion });
}

/**
 * The number of the version at which the previous page stopped, null if it did not stop within a
 * key. Older versions have smaller numbers. A deleted version whose id does not contain its number
 * counts as the greatest: the key is listed again rather than skipped.
 */
function stopOf(
  step: ModelStep,
  bucket: BucketRecord,
  { prefix, after, afterVersion }: S3Input<"listObjectVersions">,
): number | null {
  if (afterVersion === null || !after.startsWith(prefix)) return null;
  const stopped = step.objects.version(bucket.number, after, afterVersion)?.seq;
  return stopped ?? seqOfVersionId(afterVersion) ?? Number.MAX_SAFE_INTEGER;
}
