import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../units.ts";
import { formatHttpDate, parseHttpDate } from "./http-date.ts";

test("dates are written as the platform does, and read back to the second", () => {
  const second = fc.integer({ min: -62_167_219_200, max: 253_402_300_799 });
  fc.assert(
    fc.property(second, fc.nat(999), (seconds, ms) => {
      const at = epochMs(seconds * 1_000 + ms);
      const text = formatHttpDate(at);
      expect(text).toBe(new Date(at).toUTCString());
      expect(parseHttpDate(text)).toBe(seconds * 1_000);
    }),
  );
});

test.each(["", "yesterday", "Sun, 31 Feb 2026 00:00:00 GMT", "Sun, 01 Abc 2026 00:00:00 GMT"])(
  "%j is not a date",
  (text) => {
    expect(parseHttpDate(text)).toBeNull();
  },
);
