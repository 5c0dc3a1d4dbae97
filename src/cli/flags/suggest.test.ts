import fc from "fast-check";
import { expect, test } from "vitest";
import { didYouMean, editsBetween } from "./suggest.ts";

test("the nearest name within two edits is suggested", () => {
  expect(didYouMean("prot", ["port", "host"], "--")).toBe("did you mean --port?");
  expect(didYouMean("hosst", ["port", "host"])).toBe("did you mean host?");
  expect(didYouMean("zebra", ["port", "host"])).toBe("");
  expect(didYouMean("x", ["up"])).toBe("");
});

test("the distance is 0 for equal words, symmetric, and at most the length of the longer word", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(editsBetween(a, a)).toBe(0);
      expect(editsBetween(a, b)).toBe(editsBetween(b, a));
      expect(editsBetween(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(editsBetween(a, `${a}${b}`)).toBe(b.length);
    }),
  );
});
