import fc from "fast-check";
import { expect, test } from "vitest";
import { formatSequenceNumber } from "./sequence-number.ts";

const anySeq = fc.integer({ min: 1, max: 2 ** 44 });

test("sequence numbers have 20 digits and grow as text and as number with the message", () => {
  fc.assert(
    fc.property(anySeq, anySeq, (a, b) => {
      const [first, second] = [formatSequenceNumber(a), formatSequenceNumber(b)];
      expect(first).toMatch(/^\d{20}$/);
      expect(first < second).toBe(a < b);
      expect(BigInt(first) < BigInt(second)).toBe(a < b);
    }),
  );
});

test("neighbours are not consecutive", () => {
  const gap = BigInt(formatSequenceNumber(8)) - BigInt(formatSequenceNumber(7));
  expect(gap > 1n).toBe(true);
});
