import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "./hash.ts";
import { encodeKey, type KeyPart, keyDigest } from "./key-encoding.ts";

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads a tuple back; this function can exist only because the encoding is injective. */
function decodeKey(bytes: Uint8Array): KeyPart[] {
  const encoded = Uint8Array.from(bytes);
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const parts: KeyPart[] = [];
  let at = 4;
  for (let index = 0; index < view.getUint32(0); index++) {
    const tag = view.getUint8(at);
    const length = view.getUint32(at + 1);
    const content = encoded.slice(at + 5, at + 5 + length);
    at += 5 + length;
    if (tag === 0) parts.push(null);
    else if (tag === 1) parts.push(new TextDecoder("utf-8", { ignoreBOM: true }).decode(content));
    else if (tag === 2) parts.push(Number(new DataView(content.buffer).getBigInt64(0)));
    else parts.push(content);
  }
  expect(at).toBe(encoded.length);
  return parts;
}

const anyPart = (): fc.Arbitrary<KeyPart> =>
  fc.oneof(
    fc.string({ unit: "binary", maxLength: 6 }).filter((text) => text.isWellFormed()),
    fc.constant(null),
    fc.maxSafeInteger(),
    fc.uint8Array({ maxLength: 6 }),
  );

describe("injectivity (K1)", () => {
  test("any tuple can be read back from its bytes", () => {
    fc.assert(
      fc.property(fc.array(anyPart(), { maxLength: 6 }), (parts) => {
        const expected = parts.map((part) => (part === 0 ? 0 : part));
        expect(decodeKey(encodeKey(parts))).toEqual(expected);
      }),
    );
  });

  test("tuples that concatenate to the same text differ", () => {
    const text = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(text, fc.nat(12), fc.nat(12), (whole, left, right) => {
        fc.pre(Math.min(left, whole.length) !== Math.min(right, whole.length));
        const cut = (at: number): KeyPart[] => [whole.slice(0, at), whole.slice(at)];
        expect(keyDigest(1, cut(left))).not.toBe(keyDigest(1, cut(right)));
      }),
    );
  });

  test("a short ASCII tuple, which has its own writer, has the digest of its bytes (K4)", () => {
    const text = fc.oneof(fc.string({ maxLength: 1_100 }), fc.constant("x".repeat(1_019)));
    const number = fc.oneof(fc.integer({ min: -1, max: 257 }), fc.maxSafeInteger());
    const part = fc.oneof(text, number, fc.constant(null), anyPart());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const bytes = encodeKey([1, ...parts]);
        expect(keyDigest(1, parts)).toBe(`k1:${sha256Hex(bytes)}`);
      }),
    );
  });

  test("values that look alike differ", () => {
    const tuples: KeyPart[][] = [
      [],
      [null],
      [""],
      [0],
      ["0"],
      [new Uint8Array(0)],
      [new Uint8Array([0x30])],
      [null, null],
      ["", ""],
      ["a", "bc"],
      ["ab", "c"],
      ["abc"],
      ["null"],
      [-1],
      [1],
    ];
    expect(new Set(tuples.map((parts) => hexOf(encodeKey(parts)))).size).toBe(tuples.length);
    expect(new Set(tuples.map((parts) => keyDigest(1, parts))).size).toBe(tuples.length);
  });
});

describe("digests", () => {
  test("the scheme of version 1 never changes", () => {
    expect(hexOf(encodeKey(["a", null, 258, new Uint8Array([9])]))).toBe(
      "00000004" + "010000000161" + "0000000000" + "02000000080000000000000102" + "030000000109",
    );
    expect(keyDigest(1, ["object-state", "b", "k"])).toBe(
      "k1:21d9d685971a6218447e3d7ac2e67de63d85a2af63628fd242d4cdcc12617795",
    );
  });

  test("two versions of one tuple share neither prefix nor digest (K2)", () => {
    const first = keyDigest(1, ["a"]);
    const second = keyDigest(2, ["a"]);
    expect(first.slice(0, 3)).toBe("k1:");
    expect(second.slice(0, 3)).toBe("k2:");
    expect(first.slice(3)).not.toBe(second.slice(3));
    for (const digest of [first, second]) expect(digest).toMatch(/^k[12]:[0-9a-f]{64}$/);
  });

  test("zero and minus zero are equal", () => {
    expect(keyDigest(1, [0])).toBe(keyDigest(1, [-0]));
  });

  test.each([
    ["a lone surrogate", () => encodeKey(["\ud800"])],
    ["a fraction", () => encodeKey([0.5])],
    ["an unsafe integer", () => encodeKey([2 ** 53])],
    ["NaN", () => encodeKey([Number.NaN])],
    ["too many parts", () => encodeKey(new Array<null>(65).fill(null))],
    ["version 0", () => keyDigest(0, [])],
    ["a fractional version", () => keyDigest(1.5, [])],
    ["version 256", () => keyDigest(256, [])],
  ])("%s is rejected", (_, act) => {
    expect(act).toThrow(expect.objectContaining({ code: "TG_VALUE_INVALID" }));
  });
});
