import fc from "fast-check";
import { expect, test } from "vitest";
import type { Effect } from "../../../ports/sink.ts";
import { createEffectsDigest, digestOfEffects } from "./effects-digest.ts";

const upsert = (row: Record<string, unknown>): Effect =>
  ({ kind: "upsert", table: "t", row }) as Effect;

const anyRow = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 3 }),
  fc.oneof(fc.string(), fc.integer(), fc.bigInt(), fc.date(), fc.uint8Array(), fc.constant(null)),
);

test("the digest does not depend on chunks, nor on the order of fields (H1, H2)", () => {
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 20 }), fc.nat(20), (rows, cut) => {
      const digest = createEffectsDigest();
      digest.add(rows.slice(0, cut).map(upsert));
      digest.add(rows.slice(cut).map(upsert));
      const turned = rows.map((row) => Object.fromEntries(Object.entries(row).toReversed()));
      expect(digest.hex()).toBe(digestOfEffects(turned.map(upsert)));
    }),
  );
});

test("other values, other types and another order of rows have another digest", () => {
  const rows = [{ a: 1 }, { a: "1" }, { a: 1n }, { b: 1 }, { a: [1] }, { a: null }, {}];
  const digests = rows.map((row) => digestOfEffects([upsert(row)]));
  expect(new Set(digests).size).toBe(rows.length);
  const [first = {}, second = {}] = rows;
  const forth = digestOfEffects([upsert(first), upsert(second)]);
  expect(digestOfEffects([upsert(second), upsert(first)])).not.toBe(forth);
  expect(digestOfEffects([])).not.toBe(forth);
});

test("a value without a canonical form, or one that contains itself, still has a digest (H3)", () => {
  const itself: Record<string, unknown> = {};
  itself.itself = itself;
  for (const row of [itself, { a: Symbol("s") }, { a: () => 1 }]) {
    expect(digestOfEffects([upsert(row)])).toMatch(/^[0-9a-f]{64}$/);
  }
});
