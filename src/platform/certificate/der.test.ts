import { expect, test } from "vitest";
import { derInteger, objectIdentifier, sequence, time, value } from "./der.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

test("lengths take as many bytes as they need", () => {
  expect(hex(value(4, new Uint8Array(127)).subarray(0, 2))).toBe("047f");
  expect(hex(value(4, new Uint8Array(128)).subarray(0, 3))).toBe("048180");
  expect(hex(value(4, new Uint8Array(65_536)).subarray(0, 5))).toBe("0483010000");
});

test("integers are as short as possible and stay positive", () => {
  expect(hex(derInteger(Uint8Array.of(0, 0, 1)))).toBe("020101");
  expect(hex(derInteger(Uint8Array.of(0x80)))).toBe("02020080");
  expect(hex(derInteger(Uint8Array.of(0)))).toBe("020100");
});

test("object identifiers are written in base 128", () => {
  expect(hex(objectIdentifier("1.2.840.113549.1.1.11"))).toBe("06092a864886f70d01010b");
});

test("times have two digits for the year until 2050 and four from then on", () => {
  expect(time(new Date("2026-11-15T01:02:03.456Z")).subarray(2).toString()).toBe("261115010203Z");
  expect(time(new Date("2050-01-01T00:00:00Z")).subarray(2).toString()).toBe("20500101000000Z");
});

test("a sequence contains its parts in order", () => {
  expect(hex(sequence(derInteger(Uint8Array.of(1)), derInteger(Uint8Array.of(2))))).toBe(
    "3006020101020102",
  );
});
