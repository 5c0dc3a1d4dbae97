import fc from "fast-check";
import { expect, test } from "vitest";
import { MessageSlab, SlotState } from "./message-slab.ts";

function columnsOf(slab: MessageSlab) {
  const { seq, sentAt, dueAt, receivedAt, firstReceivedAt, ticket, receiveCount } = slab;
  const { arrivalCount, group, next, previous, duePosition, agePosition, state } = slab;
  const floats = [seq, sentAt, dueAt, receivedAt, firstReceivedAt, ticket];
  const wholes = [receiveCount, arrivalCount, group, next, previous];
  return [...floats, ...wholes, duePosition, agePosition, state];
}

test("slot 0 is never allocated, so that 0 can mean none (M1)", () => {
  const slab = new MessageSlab();
  const slots = Array.from({ length: 5_000 }, () => slab.allocate());
  expect(slots.includes(0)).toBe(false);
  expect(new Set(slots).size).toBe(5_000);
});

test("a reused slot has no values of its previous message", () => {
  const slab = new MessageSlab();
  const slot = slab.allocate();
  for (const column of columnsOf(slab)) column.set(slot, 99);
  slab.free(slot);
  expect(slab.state.get(slot)).toBe(SlotState.free);
  expect(slab.allocate()).toBe(slot);
  expect(columnsOf(slab).map((column) => column.get(slot))).toEqual(Array(14).fill(0));
});

test("no slot belongs to two messages at once, whatever comes and goes (M2)", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { freq: 3 }), { maxLength: 300 }), (plan) => {
      const slab = new MessageSlab();
      const live: number[] = [];
      let highest = 0;
      let most = 0;
      for (const victim of plan) {
        if (victim !== null && live.length > 0) {
          slab.free(live.splice(victim % live.length, 1)[0] as number);
        } else {
          const slot = slab.allocate();
          expect(live.includes(slot)).toBe(false);
          live.push(slot);
          highest = Math.max(highest, slot);
        }
        most = Math.max(most, live.length);
        expect(slab.used).toBe(live.length);
      }
      // Freed slots are reused before new ones are allocated.
      expect(highest).toBe(most);
    }),
  );
});
