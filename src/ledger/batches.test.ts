import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "./batches.ts";
import { asRecordKey } from "./record-state.ts";

test("rounds contain every item once and no key or object twice, in order", () => {
  const anyItem = fc.record({
    key: fc.constantFrom("a", "b", "c", "d").map(asRecordKey),
    object: fc.constantFrom("x", "y", "z").map((key) => ({ bucket: "b", key, sequencer: "1" })),
  });
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 20 }), (items) => {
      const cut = rounds(items);
      expect(cut.flat().sort((a, b) => a - b)).toEqual(items.map((_, at) => at));
      const roundOf = new Map(cut.flatMap((round, at) => round.map((index) => [index, at])));
      for (const [i, first] of items.entries()) {
        for (const [j, second] of items.entries()) {
          if (i >= j) continue;
          if (first.key === second.key || first.object.key === second.object.key) {
            expect(roundOf.get(i)).toBeLessThan(roundOf.get(j) ?? -1);
          }
        }
      }
    }),
  );
});
