import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rowCheck } from "./row-check.ts";

const anyValue = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.double({ noNaN: true }),
  fc.constant(null),
  fc.uint8Array(),
);

test("the check of a row never changes meaning (K2)", () => {
  expect(rowCheck(0)).toBe(0x6522df69);
  expect(rowCheck(1, "text", null, Uint8Array.of(1, 2, 3))).toBe(0xf0eac5e0);
});

test("the check is that of all bytes in turn, however long a value is (K2)", () => {
  const long = fc.tuple(fc.string({ unit: "grapheme" }), fc.nat(600));
  const anyText = long.map(([text, times]) => text.repeat(times));
  const number = new Float64Array(1);
  const bytesOf = (value: string | number | null | Uint8Array): Uint8Array => {
    if (value === null) return Uint8Array.of(0xff);
    if (typeof value !== "number") return Buffer.concat([Buffer.from(value), Buffer.of(1)]);
    number[0] = value;
    return new Uint8Array(number.buffer.slice(0));
  };
  fc.assert(
    fc.property(fc.array(fc.oneof(anyValue, anyText)), (row) => {
      expect(rowCheck(...row)).toBe(crc32(Buffer.concat(row.map(bytesOf))));
    }),
  );
});

test("a changed bit in any value is detected", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(), fc.nat(7), (bytes, at, bit) => {
      const flipped = bytes.slice();
      const index = at % bytes.length;
      flipped[index] = (bytes[index] as number) ^ (1 << bit);
      expect(rowCheck(7, flipped, "end")).not.toBe(rowCheck(7, bytes, "end"));
    }),
  );
});

test("text moved from one column to the next is detected", () => {
  expect(rowCheck("ab", "c")).not.toBe(rowCheck("a", "bc"));
  expect(rowCheck("ab", "")).not.toBe(rowCheck("", "ab"));
});

test("null, the empty text and zero have different checksums", () => {
  expect(new Set([rowCheck(null), rowCheck(""), rowCheck(0)]).size).toBe(3);
});

test("the same row has the same check, on any call", () => {
  fc.assert(
    fc.property(fc.array(anyValue), fc.array(anyValue), (row, other) => {
      const check = rowCheck(...row);
      rowCheck(...other);
      expect(rowCheck(...row)).toBe(check);
      expect(check).toBeGreaterThanOrEqual(0);
      expect(check).toBeLessThan(2 ** 32);
    }),
  );
});

test("text is checked as the bytes that SQLite stores", () => {
  const text = "ü\u{1f600}\u0000";
  expect(rowCheck(text)).toBe(rowCheck(new Uint8Array(Buffer.from(text))));
});
