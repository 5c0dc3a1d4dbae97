import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { epochMs } from "../units.ts";
import { sha256Hex } from "./hash.ts";
import {
  createUuidV7,
  deterministicUuid,
  formatUuid,
  isUuid,
  parseUuid,
  UUID_V7_RANDOM_BYTES,
  uuidV7,
} from "./uuid.ts";

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

  test("clamp times that do not fit into 48 bits (I4)", () => {
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

describe("version 7", () => {
  test("contains the time and the first 74 random bits", () => {
    const bytes = fc.uint8Array({ minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(anyTime(), bytes, (at, random) => {
        const drawn = BigInt(`0x${Buffer.from(random).toString("hex")}`);
        expect(fieldsOf(uuidV7(epochMs(at), random))).toEqual({
          timeMs: BigInt(at),
          version: 7,
          variant: 2n,
          tail: drawn >> 6n,
        });
      }),
    );
  });

  test("is the one of RFC 9562, appendix A.6, for its inputs", () => {
    // rand_a 0xcc3 and rand_b 0x18c4dc0c0c07398f, packed into 74 bits and shifted to the front.
    const tail = ((0xcc3n << 62n) | 0x18c4dc0c0c07398fn) << 6n;
    const random = Buffer.from(tail.toString(16).padStart(20, "0"), "hex");
    expect(uuidV7(epochMs(0x017f22e279b0), random)).toBe("017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  });

  test("grows strictly, whatever the clock and the random source do (I3)", () => {
    const times = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 2, maxLength: 50 });
    const byte = fc.oneof(fc.constant(255), fc.constant(0), fc.nat(255));
    fc.assert(
      fc.property(times, fc.infiniteStream(byte), (clock, dice) => {
        let turn = 0;
        const next = createUuidV7(
          { now: () => epochMs(clock[turn++] as number) },
          { bytes: (count) => Uint8Array.from({ length: count }, () => dice.next().value) },
        );
        const ids = clock.map(() => next());
        for (let index = 1; index < ids.length; index++) {
          expect((ids[index - 1] as string) < (ids[index] as string)).toBe(true);
        }
        for (const id of ids) expect(fieldsOf(id)).toMatchObject({ version: 7, variant: 2n });
      }),
    );
  });

  test("borrows from the next millisecond when one is used up", () => {
    const draws = [255, 255, 0, 1];
    const next = createUuidV7(
      { now: () => epochMs(5) },
      { bytes: (count) => new Uint8Array(count).fill(draws.shift() as number) },
    );
    // The first tail is the highest there is, so that the first step runs over.
    expect(fieldsOf(next())).toMatchObject({ timeMs: 5n, tail: 2n ** 74n - 1n });
    expect(fieldsOf(next())).toMatchObject({ timeMs: 6n, tail: 0n });
    expect(fieldsOf(next())).toMatchObject({ timeMs: 6n, tail: 0x01010102n });
  });

  test("needs ten random bytes", () => {
    const short = new Uint8Array(UUID_V7_RANDOM_BYTES - 1);
    expect(() => uuidV7(epochMs(0), short)).toThrow("ten random bytes");
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
