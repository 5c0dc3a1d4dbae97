import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { CRC32, CRC32C, CRC64NVME, type CrcKind, combineCrc, createCrc } from "./crc.ts";

function hexOf(kind: CrcKind, ...chunks: Uint8Array[]): string {
  const crc = createCrc(kind);
  for (const chunk of chunks) crc.update(chunk);
  return Buffer.from(crc.digest()).toString("hex");
}

test.each([
  ["CRC-32", CRC32, "cbf43926"],
  ["CRC-32C", CRC32C, "e3069283"],
  ["CRC-64/NVME", CRC64NVME, "ae8b14860a799888"],
])("%s has the check value of its catalogue entry", (_name, kind, check) => {
  expect(hexOf(kind, Buffer.from("123456789"))).toBe(check);
});

test("CRC-32 of any bytes equals zlib's", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(hexOf(CRC32, bytes)).toBe(crc32(bytes).toString(16).padStart(8, "0"));
    }),
  );
});

test.each([CRC32, CRC32C, CRC64NVME])(
  "a CRC does not depend on how its bytes are split, and combines from those of the pieces (Y3)",
  (kind) => {
    const piece = fc.uint8Array({ maxLength: 100 });
    fc.assert(
      fc.property(piece, piece, (a, b) => {
        const whole = hexOf(kind, Buffer.concat([a, b]));
        expect(hexOf(kind, a, b)).toBe(whole);
        const combined = combineCrc(
          kind,
          BigInt(`0x${hexOf(kind, a)}`),
          BigInt(`0x${hexOf(kind, b)}`),
          b.length,
        );
        expect(combined.toString(16).padStart(kind.bits / 4, "0")).toBe(whole);
      }),
    );
  },
);
