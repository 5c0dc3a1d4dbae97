import fc from "fast-check";
import { expect, test } from "vitest";
import { IndexedHeap } from "./indexed-heap.ts";

interface Item {
  position: number;
  key: number;
}

const anyMove = fc.record({
  kind: fc.constantFrom("push", "push", "remove", "update"),
  pick: fc.nat(),
  key: fc.integer({ min: 0, max: 30 }),
});

test("the top is the first item of a sorted array, and each item knows its position", () => {
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 250 }), (moves) => {
      const heap = new IndexedHeap<Item>((a, b) => a.key < b.key);
      const items: Item[] = [];
      for (const { kind, pick, key } of moves) {
        const item = items[pick % Math.max(1, items.length)];
        if (kind === "push" || item === undefined) {
          const fresh = { position: 0, key };
          heap.push(fresh);
          items.push(fresh);
        } else if (kind === "remove") {
          heap.remove(item);
          items.splice(items.indexOf(item), 1);
          expect(item.position).toBe(0);
        } else {
          item.key = key;
          heap.update(item);
        }
        expect(heap.top?.key).toBe(items.toSorted((a, b) => a.key - b.key)[0]?.key);
        const places = items.map(({ position }) => position).sort((a, b) => a - b);
        expect(places).toEqual(items.map((_, index) => index + 1));
      }
    }),
  );
});
