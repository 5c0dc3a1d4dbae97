import fc from "fast-check";
import { expect, test } from "vitest";
import { OpenExchanges } from "./open-exchanges.ts";

test("it holds exactly those that were added and not deleted, however often each is deleted", () => {
  const anyMove = fc.record({ add: fc.boolean(), pick: fc.nat() });
  fc.assert(
    fc.property(fc.array(anyMove), (moves) => {
      const open = new OpenExchanges<{ place: number }>();
      const made: { place: number }[] = [];
      const held = new Set<{ place: number }>();
      for (const { add, pick } of moves) {
        if (add || made.length === 0) {
          const exchange = { place: -1 };
          made.push(exchange);
          held.add(exchange);
          open.add(exchange);
        } else {
          const exchange = made[pick % made.length]!;
          held.delete(exchange);
          open.delete(exchange);
        }
        expect(new Set(open)).toEqual(held);
        expect([...open]).toHaveLength(held.size);
      }
    }),
  );
});

test("those that go while all are looked at do not keep others from being looked at", () => {
  const open = new OpenExchanges<{ place: number }>();
  const all = [1, 2, 3].map(() => ({ place: -1 }));
  for (const each of all) open.add(each);
  const seen: unknown[] = [];
  for (const each of open) {
    seen.push(each);
    open.delete(each);
  }
  expect(seen).toEqual(all);
  expect([...open]).toEqual([]);
});
