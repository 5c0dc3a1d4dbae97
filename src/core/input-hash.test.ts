import fc from "fast-check";
import { expect, test } from "vitest";
import {
  checksumInputHash,
  decodeInputHash,
  encodeInputHash,
  NO_HASH_REASONS,
  noHash,
  sha256InputHash,
} from "./input-hash.ts";

const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("the stored form of a hash or a reason is read as the same one", () => {
  fc.assert(
    fc.property(digests, (digest) => {
      const hash = sha256InputHash(digest);
      expect(decodeInputHash(encodeInputHash(hash))).toEqual(hash);
      expect(encodeInputHash(hash)).toHaveLength("sha256:".length + 43);
    }),
  );
  for (const reason of NO_HASH_REASONS) {
    expect(decodeInputHash(encodeInputHash(noHash(reason)))).toEqual(noHash(reason));
  }
});

test.each([undefined, null, 7, "", "none:unknown", "sha256", "md9:AAAA", "sha256:!"])(
  "%j, which no commit stores, counts as not recorded",
  (stored) => expect(decodeInputHash(stored)).toEqual(noHash("not-recorded")),
);

test("the checksum of a service names its algorithm; one of parts is not a hash of the bytes", () => {
  const checksum = { algorithm: "CRC64NVME", value: "AQIDBAUGBwg=" } as const;
  expect(checksumInputHash({ ...checksum, type: "FULL_OBJECT" })).toEqual({
    hash: "crc64nvme:0102030405060708",
    noHash: null,
  });
  expect(checksumInputHash({ ...checksum, type: "COMPOSITE" })).toBe(null);
});
