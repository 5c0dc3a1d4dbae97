import fc from "fast-check";
import { expect, test } from "vitest";
import { InvariantError } from "../../../../core/assert.ts";
import { MessageSlab } from "./message-slab.ts";
import { SlotHeap } from "./slot-heap.ts";

const anyMove = fc.record({
  kind: fc.constantFrom("push", "push", "remove", "update"),
  pick: fc.nat(),
  key: fc.integer({ min: 0, max: 40 }),
});

function createHeap() {
  const slab = new MessageSlab();
  return { slab, heap: new SlotHeap(slab.dueAt, slab.duePosition) };
}

test("the top is the first item of a sorted array", () => {
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 250 }), (moves) => {
      const { slab, heap } = createHeap();
      const keys = new Map<number, number>();
      for (const { kind, pick, key } of moves) {
        const slots = [...keys.keys()];
        const slot = slots[pick % Math.max(1, slots.length)] ?? 0;
        if (kind === "push" || slot === 0) {
          const fresh = slab.allocate();
          slab.dueAt.set(fresh, key);
          heap.push(fresh);
          keys.set(fresh, key);
        } else if (kind === "remove") {
          heap.remove(slot);
          keys.delete(slot);
          expect(heap.has(slot)).toBe(false);
        } else {
          slab.dueAt.set(slot, key);
          heap.update(slot);
          keys.set(slot, key);
        }
        expect(heap.length).toBe(keys.size);
        expect(keys.get(heap.top) ?? 0).toBe(Math.min(...keys.values(), keys.size ? 99 : 0));
      }
      const walked = Array.from({ length: heap.length }, (_, index) => heap.at(index));
      expect(walked.sort()).toEqual([...keys.keys()].sort());
    }),
  );
});

test("popping the top gives all keys in order, across chunk borders", () => {
  const { slab, heap } = createHeap();
  const keys = Array.from({ length: 9_000 }, (_, index) => (index * 7_919) % 9_001);
  for (const key of keys) {
    const slot = slab.allocate();
    slab.dueAt.set(slot, key);
    heap.push(slot);
  }
  const popped: number[] = [];
  for (let slot = heap.top; slot !== 0; slot = heap.top) {
    popped.push(slab.dueAt.get(slot));
    heap.remove(slot);
  }
  expect(popped).toEqual(keys.toSorted((a, b) => a - b));
});

test("pushing a slot twice or removing a missing slot breaks an invariant (H1)", () => {
  const { slab, heap } = createHeap();
  const slot = slab.allocate();
  expect(() => heap.remove(slot)).toThrow(InvariantError);
  heap.push(slot);
  expect(() => heap.push(slot)).toThrow(InvariantError);
});
