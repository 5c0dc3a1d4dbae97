// Listed pages: the objects of a bucket in the order in which a backfill takes them.
//   G1. Without versions, a page has the current version of each object.
//   G2. With versions, all versions of a key are in one page, the oldest first. A listing has them
//       newest first, and over several pages, so the last key of a page waits for the next one.
//   G3. `next` never passes a key that waits: a run that continues there lists it again.

import { refuseValue } from "../core/errors.ts";
import type { ListedObject, ObjectLister } from "../ports/objects/object-lister.ts";

/** Versions of one key that are kept in memory. */
export const VERSIONS_MAX = 100_000;

export interface BackfillPage {
  readonly objects: readonly ListedObject[];
  /** Where a later run continues after this page; null: at the first page. */
  readonly next: string | null;
  readonly isLast: boolean;
}

export interface PagesRequest {
  readonly bucket: string;
  readonly prefix: string;
  readonly after: string | null;
  /** Whether past versions are wanted, too (G2). */
  readonly versions: boolean;
}

export async function* listPages(
  lister: ObjectLister,
  { bucket, prefix, after, versions }: PagesRequest,
  signal: AbortSignal,
): AsyncGenerator<BackfillPage> {
  let cursor = after;
  let waiting: ListedObject[] = [];
  let since = after;
  for (;;) {
    const page = await lister.list({ bucket, prefix, after: cursor }, signal);
    if (!versions) {
      const objects = page.objects.filter((object) => object.isLatest);
      yield { objects, next: page.next, isLast: page.next === null }; // G1
    } else {
      const all = [...waiting, ...page.objects];
      const last = page.next === null ? undefined : all.at(-1)?.key;
      const from = last === undefined ? all.length : all.findIndex(({ key }) => key === last);
      if (from < all.length && all[from]?.key !== waiting[0]?.key) since = cursor; // G3
      waiting = all.slice(from);
      if (waiting.length > VERSIONS_MAX) refuseMany(bucket, waiting);
      const next = waiting.length === 0 ? page.next : since;
      yield { objects: oldestFirst(all.slice(0, from)), next, isLast: page.next === null };
    }
    if (page.next === null) return;
    cursor = page.next;
  }
}

function refuseMany(bucket: string, [object]: readonly ListedObject[]): never {
  const message =
    `s3://${bucket}/${object?.key} has more than ${VERSIONS_MAX} versions; ` +
    "backfill it without versions";
  refuseValue(message);
}

function oldestFirst(objects: readonly ListedObject[]): ListedObject[] {
  return [...versionsByKey(objects).values()].flatMap((versions) => versions.toReversed()); // G2
}

/** The versions of each key, in their order. */
export function versionsByKey<T extends { readonly key: string }>(
  objects: readonly T[],
): Map<string, T[]> {
  const byKey = new Map<string, T[]>();
  for (const object of objects) {
    const versions = byKey.get(object.key);
    if (versions === undefined) byKey.set(object.key, [object]);
    else versions.push(object);
  }
  return byKey;
}

/** Rows of which none has two entries of one key: the first of each key, then the second. */
export function wavesOf<T extends { readonly key: string }>(entries: readonly T[]): T[][] {
  const waves: T[][] = [];
  for (const versions of versionsByKey(entries).values()) {
    for (const [at, entry] of versions.entries()) {
      const wave = waves[at];
      if (wave === undefined) waves.push([entry]);
      else wave.push(entry);
    }
  }
  return waves;
}
