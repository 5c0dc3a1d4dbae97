import fc from "fast-check";
import { expect, test } from "vitest";
import { compareUtf8 } from "./utf8-order.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom("a", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"),
    maxLength: 4,
  }),
);

test("texts sort like their UTF-8 bytes (U1)", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareUtf8(a, b))).toBe(bytes);
    }),
  );
});
