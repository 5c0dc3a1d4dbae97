import fc from "fast-check";
import { expect, test } from "vitest";
import { didYouMean, editsBetween } from "./suggest.ts";

test("a word one or two edits away is suggested, the nearest first, a far one never", () => {
  expect(didYouMean("prot", ["port", "host"], "--")).toBe(" Did you mean --port?");
  expect(didYouMean("hosst", ["port", "host"])).toBe(" Did you mean host?");
  expect(didYouMean("zebra", ["port", "host"])).toBe("");
  expect(didYouMean("x", ["up"])).toBe("");
});

test("edits are none for equal words, the same both ways, and at most the longer word", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(editsBetween(a, a)).toBe(0);
      expect(editsBetween(a, b)).toBe(editsBetween(b, a));
      expect(editsBetween(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(editsBetween(a, `${a}${b}`)).toBe(b.length);
    }),
  );
});
