import fc from "fast-check";
import { expect, test } from "vitest";
import { OpenExchanges } from "./open-exchanges.ts";

test("it contains exactly the exchanges added and not deleted, even if deleted repeatedly", () => {
  const anyMove = fc.record({ add: fc.boolean(), pick: fc.nat() });
  fc.assert(
    fc.property(fc.array(anyMove), (moves) => {
      const open = new OpenExchanges<{ index: number }>();
      const made: { index: number }[] = [];
      const expected = new Set<{ index: number }>();
      for (const { add, pick } of moves) {
        if (add || made.length === 0) {
          const exchange = { index: -1 };
          made.push(exchange);
          expected.add(exchange);
          open.add(exchange);
        } else {
          const exchange = made[pick % made.length]!;
          expected.delete(exchange);
          open.delete(exchange);
        }
        expect(new Set(open)).toEqual(expected);
        expect([...open]).toHaveLength(expected.size);
      }
    }),
  );
});

test("an iteration visits every exchange, even if some are deleted meanwhile", () => {
  const open = new OpenExchanges<{ index: number }>();
  const all = [1, 2, 3].map(() => ({ index: -1 }));
  for (const each of all) open.add(each);
  const visited: unknown[] = [];
  for (const each of open) {
    visited.push(each);
    open.delete(each);
  }
  expect(visited).toEqual(all);
  expect([...open]).toEqual([]);
});
