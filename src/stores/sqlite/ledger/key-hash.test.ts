import fc from "fast-check";
import { expect, test } from "vitest";
import { compareUtf8 } from "../../../core/encoding/utf8-order.ts";
import { hashKey, rankOf } from "./key-hash.ts";

const hex = fc.string({
  unit: fc.constantFrom(..."0123456789abcdef"),
  minLength: 64,
  maxLength: 64,
});
const digest = hex.map((digits) => `k1:${digits}`);
const near = fc
  .string({ unit: fc.constantFrom(..."/09:@`afg\u00e9\ud83d\ude00"), maxLength: 13 })
  .map((text) => `k1:${text}`);
const anyKey = fc.oneof(digest, near, fc.string({ unit: "binary" }));

test("ranks have the order of keys by UTF-8 bytes, whatever the keys are (H2)", () => {
  fc.assert(
    fc.property(anyKey, anyKey, (a, b) => {
      const order = compareUtf8(a, b);
      if (order < 0) expect(rankOf(a)).toBeLessThanOrEqual(rankOf(b));
      if (order > 0) expect(rankOf(a)).toBeGreaterThanOrEqual(rankOf(b));
    }),
    { numRuns: 2_000 },
  );
});

test("digests have a rank of their own, which is also their hash (H1, H3)", () => {
  const ranks = new Set<number>();
  for (let n = 0; n < 5_000; n += 1) {
    const key = `k1:${(n * 0x9e3779b1).toString(16).padStart(11, "0").slice(0, 11)}${"0".repeat(53)}`;
    expect(hashKey(1, key)).toBe(rankOf(key));
    ranks.add(rankOf(key));
  }
  expect(ranks.size).toBe(5_000);
  for (const edge of ["0", "f"]) expect(rankOf(`k1:${edge.repeat(64)}`)).toBeLessThan(2 ** 47);
});

test("hashes spread other keys that differ in one character or only in their scope", () => {
  const hashes = new Set<number>();
  for (let n = 0; n < 20_000; n += 1) hashes.add(hashKey(1, `k1:${n}`));
  for (let scope = 2; scope < 1_002; scope += 1) hashes.add(hashKey(scope, "k1:0"));
  expect(hashes.size).toBe(21_000);
  for (const hash of hashes) expect(hash).toBeLessThan(2 ** 47);
});
