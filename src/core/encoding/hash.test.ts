import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  hmacSha256,
  hmacSha256Hex,
  isSameSecret,
  md5Bytes,
  md5Hex,
  md5HexOfParts,
  sha256Bytes,
  sha256Hex,
  sha256HexOfParts,
} from "./hash.ts";

const ABC_SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const ABC_MD5 = "900150983cd24fb0d6963f7d28e17f72";

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

test("digests are those of FIPS 180-4 and RFC 1321", () => {
  expect(sha256Hex("abc")).toBe(ABC_SHA256);
  expect(sha256Hex("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(md5Hex("abc")).toBe(ABC_MD5);
  expect(md5Hex("")).toBe("d41d8cd98f00b204e9800998ecf8427e");
});

test("bytes and hex are the same digest", () => {
  expect(hexOf(sha256Bytes("abc"))).toBe(ABC_SHA256);
  expect(hexOf(md5Bytes("abc"))).toBe(ABC_MD5);
});

test("text is hashed as UTF-8", () => {
  expect(sha256Hex("é€")).toBe(sha256Hex(new TextEncoder().encode("é€")));
  expect(md5Hex("é€")).toBe(md5Hex(new TextEncoder().encode("é€")));
});

test("parts are hashed as one text, wherever they are split", () => {
  expect(sha256HexOfParts(["a", new Uint8Array([0x62]), "c"])).toBe(ABC_SHA256);
  expect(sha256HexOfParts(["ab", "c"])).toBe(ABC_SHA256);
  expect(md5HexOfParts(["a", "bc"])).toBe(ABC_MD5);
});

test("a keyed digest is that of RFC 2104, and secrets are compared whole", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.string({ unit: "binary" }), (key, text) => {
      const expected = createHmac("sha256", key).update(text).digest("hex");
      expect(hmacSha256Hex(key, text)).toBe(expected);
      expect(Buffer.from(hmacSha256(key, text)).toString("hex")).toBe(expected);
    }),
  );
  expect(isSameSecret("abc", "abc")).toBe(true);
  for (const other of ["abd", "ab", "abcd", ""]) expect(isSameSecret(other, "abc")).toBe(false);
});
