import fc from "fast-check";
import { expect, test } from "vitest";
import type { Random } from "../ports/random.ts";
import { createSeededRandom } from "./seeded-random.ts";

const draw = (random: Random, count: number) =>
  Array.from({ length: count }, () => random.fraction());

test("the same seed gives the same stream, and another seed another (R1)", () => {
  expect(draw(createSeededRandom("a"), 50)).toEqual(draw(createSeededRandom("a"), 50));
  expect(draw(createSeededRandom("a"), 50)).not.toEqual(draw(createSeededRandom("b"), 50));
  expect(draw(createSeededRandom(1), 3)).toMatchInlineSnapshot(`
    [
      0.4826863874028394,
      0.09886045638560015,
      0.8461527067527982,
    ]
  `);
});

test("draws of a parent do not shift its forks, and forks do not shift each other (R2)", () => {
  const parent = createSeededRandom(7);
  const early = draw(parent.fork("x"), 20);
  draw(parent, 100);
  draw(parent.fork("y"), 100);
  expect(draw(parent.fork("x"), 20)).toEqual(early);
  expect(draw(parent.fork("y"), 20)).not.toEqual(early);
});

test("forks of forks differ wherever their names are split", () => {
  const root = createSeededRandom("s");
  expect(draw(root.fork("a/b"), 5)).not.toEqual(draw(root.fork("a").fork("b"), 5));
});

test("draws below a bound stay below it and are evenly distributed", () => {
  const random = createSeededRandom("even");
  const counts = Array.from({ length: 10 }, () => 0);
  for (let index = 0; index < 20_000; index += 1) {
    const drawn = random.below(10);
    counts[drawn] = (counts[drawn] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(250);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 53 - 1 }), (bound) => {
      const drawn = random.below(bound);
      expect(Number.isInteger(drawn) && drawn >= 0 && drawn < bound).toBe(true);
    }),
  );
});

test("UUIDs have version 4 and do not repeat", () => {
  const random = createSeededRandom("uuid");
  const drawn = Array.from({ length: 2_000 }, () => random.uuid());
  expect(new Set(drawn).size).toBe(drawn.length);
  for (const uuid of drawn) {
    expect(uuid).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  }
});
