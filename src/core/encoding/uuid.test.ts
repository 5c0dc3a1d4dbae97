import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { epochMs } from "../units.ts";
import { sha256Hex } from "./hash.ts";
import { deterministicUuid, formatUuid, isUuid, parseUuid } from "./uuid.ts";

/** Everything but version and variant: 48 bits of time, then the 74 bits after it. */
function fieldsOf(text: string): {
  timeMs: bigint;
  version: number;
  variant: bigint;
  tail: bigint;
} {
  const value = BigInt(`0x${text.replaceAll("-", "")}`);
  const tail = (((value >> 64n) & 0xfffn) << 62n) | (value & ((1n << 62n) - 1n));
  const version = Number((value >> 76n) & 0xfn);
  return { timeMs: value >> 80n, version, variant: (value >> 62n) & 3n, tail };
}

const anyTime = (): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** 48 - 1 });

describe("deterministic ids", () => {
  test("are version 8: event time, then the first 74 bits of the key's SHA-256 (I1)", () => {
    fc.assert(
      fc.property(anyTime(), fc.string(), (at, key) => {
        const id = deterministicUuid(epochMs(at), key);
        expect(isUuid(id)).toBe(true);
        expect(fieldsOf(id)).toEqual({
          timeMs: BigInt(at),
          version: 8,
          variant: 2n,
          tail: BigInt(`0x${sha256Hex(key)}`) >> (256n - 74n),
        });
      }),
    );
  });

  test("never change (I2)", () => {
    expect(deterministicUuid(epochMs(1_794_729_600_000), "orders/1.csv")).toBe(
      "01a1de38-6400-84ec-b232-0a1589552427",
    );
  });

  test("are the same for a key as text and as UTF-8", () => {
    const bytes = new TextEncoder().encode("é");
    expect(deterministicUuid(epochMs(1), "é")).toBe(deterministicUuid(epochMs(1), bytes));
  });

  test("sort by event time", () => {
    fc.assert(
      fc.property(anyTime(), anyTime(), fc.string(), fc.string(), (one, two, left, right) => {
        fc.pre(one < two);
        const earlier = deterministicUuid(epochMs(one), left);
        expect(earlier < deterministicUuid(epochMs(two), right)).toBe(true);
      }),
    );
  });

  test("clamp times that do not fit into 48 bits (I3)", () => {
    const at = (time: number): bigint => fieldsOf(deterministicUuid(epochMs(time), "k")).timeMs;
    expect(at(-1)).toBe(0n);
    expect(at(Number.NEGATIVE_INFINITY)).toBe(0n);
    expect(at(2 ** 48)).toBe(2n ** 48n - 1n);
  });

  test("are rejected for a key that UTF-8 cannot represent", () => {
    expect(() => deterministicUuid(epochMs(0), "\ud800")).toThrow(
      expect.objectContaining({ code: "TG_VALUE_INVALID" }),
    );
  });
});

describe("text", () => {
  test("any sixteen bytes survive writing and reading", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = formatUuid(bytes);
        expect(parseUuid(text)?.bytes).toEqual(bytes);
        expect(parseUuid(text.toUpperCase())?.bytes).toEqual(bytes);
      }),
    );
  });

  test("version and time can be read", () => {
    expect(parseUuid("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")).toMatchObject({
      version: 7,
      timeMs: 0x017f22e279b0,
    });
  });

  test.each([
    "",
    "017f22e279b07cc398c4dc0c0c07398f",
    "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
    "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n",
  ])("%j is not a UUID", (text) => {
    expect(isUuid(text)).toBe(false);
    expect(parseUuid(text)).toBeNull();
  });
});
