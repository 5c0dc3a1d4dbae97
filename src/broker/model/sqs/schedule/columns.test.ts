import { expect, test } from "vitest";
import { createFloat64Column, createUint8Column, createUint32Column } from "./columns.ts";

const CREATORS = { createFloat64Column, createUint32Column, createUint8Column };

for (const [name, create] of Object.entries(CREATORS)) {
  test(`${name}: slots on both sides of every chunk border keep their own values`, () => {
    const column = create();
    column.reserve(3 * 4_096 + 1);
    const slots = [0, 1, 4_095, 4_096, 4_097, 8_191, 8_192, 12_287, 12_288];
    slots.forEach((slot, index) => {
      column.set(slot, index + 1);
    });
    expect(slots.map((slot) => column.get(slot))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(column.get(2)).toBe(0);
  });

  test(`${name}: growing keeps existing values`, () => {
    const column = create();
    column.reserve(1);
    column.set(0, 7);
    for (const slots of [16, 17, 100, 4_095, 4_096, 4_097, 4_097, 20_000]) {
      column.reserve(slots);
      expect([column.get(0), column.get(slots - 1)]).toEqual([7, 0]); // C1
    }
  });
}

test("a float column holds every instant and message number exactly", () => {
  const column = createFloat64Column();
  column.reserve(1);
  column.set(0, Number.MAX_SAFE_INTEGER);
  expect(column.get(0)).toBe(Number.MAX_SAFE_INTEGER);
});
