import fc from "fast-check";
import { expect, test } from "vitest";
import { ContentCache } from "./content-cache.ts";

function content(length: number, detail: string | null = null) {
  return { id: "id", body: "x".repeat(length), detail };
}

/** The cost of a body of this length. */
const cost = (length: number) => 250 + length;

test("a full cache evicts the oldest first (C2)", () => {
  const cache = new ContentCache(3 * cost(10), 1);
  for (const seq of [1, 2, 3, 4]) cache.put(seq, content(10));
  expect([1, 2, 3, 4].map((seq) => cache.get(seq) !== undefined)).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

test("a deleted entry frees its bytes", () => {
  const cache = new ContentCache(2 * cost(10), 1);
  cache.put(1, content(10));
  cache.put(2, content(10));
  cache.delete(2);
  cache.delete(2);
  cache.put(3, content(10));
  expect([1, 2, 3].map((seq) => cache.get(seq) !== undefined)).toEqual([true, false, true]);
});

test("a message larger than the cache is not cached, and later ones are", () => {
  const cache = new ContentCache(cost(100), 1);
  cache.put(1, content(10));
  cache.put(2, content(101));
  expect([cache.get(1), cache.get(2)]).toEqual([undefined, undefined]);
  cache.put(3, content(100));
  expect(cache.get(3)).toBeDefined();
});

test("a cache of no bytes holds nothing", () => {
  const cache = new ContentCache(0, 1);
  cache.put(1, content(0));
  expect(cache.get(1)).toBe(undefined);
});

test("numbers may begin anywhere and have gaps; details cost, too", () => {
  const cache = new ContentCache(cost(10) + cost(20), 1_000_000);
  cache.put(1_000_005, content(10));
  cache.put(1_000_900, content(10, "y".repeat(10)));
  expect(cache.get(1_000_005)).toBeDefined();
  cache.put(1_001_000, content(10));
  expect(cache.get(1_000_005)).toBe(undefined);
  expect(cache.get(1_000_900)).toBeDefined();
});

test("it never holds more than its bytes, and always the newest that fit", () => {
  const anyMove = fc.oneof(
    fc.record({ put: fc.integer({ min: 0, max: 600 }) }),
    fc.record({ drop: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 80 }), (moves) => {
      const limit = 2_000;
      const cache = new ContentCache(limit, 1);
      const sizes = new Map<number, number>();
      let seq = 0;
      for (const move of moves) {
        if ("put" in move) {
          seq += 1;
          cache.put(seq, content(move.put));
          sizes.set(seq, cost(move.put));
        } else if (seq > 0) {
          cache.delete((move.drop % seq) + 1);
          sizes.delete((move.drop % seq) + 1);
        }
        for (const [old] of sizes) if (cache.get(old) === undefined) sizes.delete(old);
        const cached = [...sizes.values()].reduce((sum, size) => sum + size, 0);
        expect(cached).toBeLessThanOrEqual(limit);
        if ("put" in move) expect(cache.get(seq)).toBeDefined();
      }
    }),
  );
});
