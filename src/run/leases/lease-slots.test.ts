import { expect, test } from "vitest";
import { durationMs, epochMs } from "../../core/units.ts";
import { LEASES_MAX, LeaseBoard, newBoardMemory } from "./lease-board.ts";
import { LeaseSlots } from "./lease-slots.ts";

test("a slot is reused only after the order that dropped its lease (B1)", () => {
  const slots = new LeaseSlots();
  expect([slots.take(0), slots.take(0)]).toEqual([0, 1]);
  slots.free(0, 5);
  expect(slots.take(4)).toBe(2);
  expect(slots.take(5)).toBe(0);
  expect(slots.take(5)).toBe(3);
});

test("slots are reused without limit, and their number is bounded", () => {
  const slots = new LeaseSlots();
  const first = Array.from({ length: LEASES_MAX }, () => slots.take(0));
  expect(new Set(first).size).toBe(LEASES_MAX);
  expect(() => slots.take(0)).toThrow(/at most/);
  for (let round = 1; round <= 3; round += 1) {
    for (const slot of first) slots.free(slot, round);
    expect(first.map(() => slots.take(round))).toEqual(first);
  }
});

test("an expiry is visible to every thread that shares the memory, until it is withdrawn", () => {
  const memory = newBoardMemory();
  const [writer, reader] = [new LeaseBoard(memory), new LeaseBoard(memory)];
  const end = { wall: epochMs(1_700_000_000_000), steady: durationMs(500) };
  const before = { wall: epochMs(end.wall - 1), steady: durationMs(499) };
  const last = LEASES_MAX - 1;
  expect(reader.isOver(last, before)).toBe(true);
  writer.write(last, end);
  expect(reader.isOver(last, before)).toBe(false);
  expect(reader.isOver(last, { ...before, wall: end.wall })).toBe(true);
  expect(reader.isOver(last, { ...before, steady: end.steady })).toBe(true);
  writer.write(last, null);
  expect(reader.isOver(last, before)).toBe(true);
  writer.worked = 7;
  expect(reader.worked).toBe(7);
});
