import fc from "fast-check";
import { expect, test } from "vitest";
import { KeyTail } from "./key-tail.ts";

/** More than the first size, so that the tail grows. */
const MANY = 3_000;

function idsOf(tail: KeyTail, hash: number): number[] {
  const ids: number[] = [];
  tail.find(hash, (id) => {
    ids.push(id);
    return null;
  });
  return ids.sort((a, b) => a - b);
}

test("a tail finds every pair, with collisions, growth and removals of the newest", () => {
  const anyStep = fc.record({ add: fc.nat(MANY), remove: fc.nat(MANY), hashes: fc.nat(2_000) });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 4 }), (steps) => {
      const tail = new KeyTail();
      const pairs: { hash: number; id: number }[] = [];
      let nextId = 1;
      for (const { add, remove, hashes } of steps) {
        for (let n = 0; n < add; n += 1) {
          const pair = { hash: 2 ** 40 + (n % (hashes + 1)), id: nextId++ };
          pairs.push(pair);
          tail.add(pair.hash, pair.id);
        }
        for (let n = 0; n < Math.min(remove, add); n += 1)
          expect(tail.removeLast()).toEqual(pairs.pop());
      }
      expect(tail.size).toBe(pairs.length);
      const expected = Map.groupBy(pairs, ({ hash }) => hash);
      for (const [hash, same] of expected) {
        if (hash % 97 === 0) expect(idsOf(tail, hash)).toEqual(same.map(({ id }) => id));
        expect(tail.has(hash)).toBe(true);
      }
      expect(tail.has(7)).toBe(false);
      const later = pairs.filter(({ id }) => id > 100).map(({ hash }) => hash);
      expect([...tail.sortedHashes(100)]).toEqual(later.sort((a, b) => a - b));
    }),
    { numRuns: 15 },
  );
});
