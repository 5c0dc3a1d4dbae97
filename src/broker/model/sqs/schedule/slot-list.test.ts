import fc from "fast-check";
import { expect, test } from "vitest";
import { MessageSlab } from "./message-slab.ts";
import { SlotList } from "./slot-list.ts";

function walk(slab: MessageSlab, list: SlotList): number[] {
  const slots: number[] = [];
  for (let slot = list.head; slot !== 0; slot = slab.next.get(slot)) slots.push(slot);
  return slots;
}

test("a list equals an array, forwards and backwards", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { freq: 3 }), { maxLength: 200 }), (plan) => {
      const slab = new MessageSlab();
      const list = new SlotList(slab);
      const model: number[] = [];
      for (const victim of plan) {
        if (victim !== null && model.length > 0) {
          const [slot] = model.splice(victim % model.length, 1) as [number];
          list.remove(slot);
          expect(slab.next.get(slot) + slab.previous.get(slot)).toBe(0);
        } else {
          const slot = slab.allocate();
          list.pushBack(slot);
          model.push(slot);
        }
        expect(walk(slab, list)).toEqual(model);
        expect(list.length).toBe(model.length);
        expect(model.map((slot) => slab.previous.get(slot))).toEqual([0, ...model].slice(0, -1));
      }
    }),
    { numRuns: 60 },
  );
});

test("two lists share a slab without interfering", () => {
  const slab = new MessageSlab();
  const lists = [new SlotList(slab), new SlotList(slab)] as const;
  const slots = [slab.allocate(), slab.allocate(), slab.allocate(), slab.allocate()] as const;
  lists[0].pushBack(slots[0]);
  lists[1].pushBack(slots[1]);
  lists[0].pushBack(slots[2]);
  lists[1].pushBack(slots[3]);
  lists[0].remove(slots[0]);
  lists[0].pushBack(slots[0]);
  expect(walk(slab, lists[0])).toEqual([slots[2], slots[0]]);
  expect(walk(slab, lists[1])).toEqual([slots[1], slots[3]]);
});
