import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../core/units.ts";
import type { ListedObject, ObjectLister } from "../ports/objects/object-lister.ts";
import { listPages, wavesOf } from "./listed-pages.ts";

const never = new AbortController().signal;

/** Lists `counts[n]` versions of key n, newest first, `size` entries at a time. */
function listerOf(counts: readonly number[], size: number): ObjectLister {
  const all = counts.flatMap((count, at) =>
    Array.from({ length: count }, (_, nth): ListedObject => {
      const version = count - nth;
      const versionId = `v${version}`;
      const facts = { etag: "e", size: 1, lastModified: epochMs(version), isLatest: nth === 0 };
      return { key: `k${String(at).padStart(3, "0")}`, versionId, ...facts };
    }),
  );
  return {
    async list({ after }) {
      const from = Number(after ?? 0);
      const next = from + size < all.length ? String(from + size) : null;
      return { objects: all.slice(from, from + size), next };
    },
  };
}

const anyListing = fc.record({
  counts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
  size: fc.integer({ min: 1, max: 8 }),
  killedAfter: fc.nat(12),
});
const nameOf = ({ key, versionId }: ListedObject) => `${key} ${versionId}`;

test("all versions come once, those of a key in one page and the oldest first", async () => {
  await fc.assert(
    fc.asyncProperty(anyListing, async ({ counts, size }) => {
      const request = { bucket: "b", prefix: "", after: null, versions: true };
      const names: string[] = [];
      const pagesOf = new Map<string, number>();
      let pages = 0;
      for await (const { objects } of listPages(listerOf(counts, size), request, never)) {
        pages += 1;
        for (const object of objects) {
          names.push(nameOf(object));
          expect(pagesOf.get(object.key) ?? pages).toBe(pages);
          pagesOf.set(object.key, pages);
        }
      }
      expect(names).toEqual(names.toSorted());
      expect(new Set(names).size).toBe(counts.reduce((sum, count) => sum + count, 0));
    }),
  );
});

test("a run that is killed after any page and continues there misses no version", async () => {
  await fc.assert(
    fc.asyncProperty(anyListing, async ({ counts, size, killedAfter }) => {
      const lister = listerOf(counts, size);
      const names = new Set<string>();
      let after: string | null = null;
      let pages = 0;
      let isLast = false;
      const request = { bucket: "b", prefix: "", versions: true };
      for await (const page of listPages(lister, { ...request, after }, never)) {
        if (pages === killedAfter) break;
        for (const object of page.objects) names.add(nameOf(object));
        ({ next: after, isLast } = page);
        pages += 1;
      }
      if (!isLast) {
        for await (const { objects } of listPages(lister, { ...request, after }, never)) {
          for (const object of objects) names.add(nameOf(object));
        }
      }
      expect(names.size).toBe(counts.reduce((sum, count) => sum + count, 0));
    }),
  );
});

test("without versions, only current ones are listed", async () => {
  const request = { bucket: "b", prefix: "", after: null, versions: false };
  const names: string[] = [];
  for await (const { objects } of listPages(listerOf([3, 1, 2], 2), request, never)) {
    names.push(...objects.map(nameOf));
  }
  expect(names).toEqual(["k000 v3", "k001 v1", "k002 v2"]);
});

test("no wave has two versions of one key, and each key keeps its order", () => {
  const entries = ["a1", "a2", "b1", "a3", "b2"].map((name) => ({ key: name[0] ?? "", name }));
  const names = wavesOf(entries).map((wave) => wave.map(({ name }) => name));
  expect(names).toEqual([["a1", "b1"], ["a2", "b2"], ["a3"]]);
});
