// Checksums: the checksums that S3 stores in addition to the ETag, and how those of parts combine.
//   K1. A checksum is base64. The checksum of a whole object covers all its bytes; a composite one
//       is the digest of the digests of the parts, followed by their number.

import { CRC32, CRC32C, CRC64NVME, type CrcKind, combineCrc, createCrc } from "./crc.ts";
import { createDigest, type Digest } from "./hash.ts";

export const CHECKSUM_ALGORITHMS = [
  "CRC32",
  "CRC32C",
  "CRC64NVME",
  "MD5",
  "SHA1",
  "SHA256",
  "SHA512",
] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];
export type ChecksumType = "FULL_OBJECT" | "COMPOSITE";

export interface Checksum {
  readonly algorithm: ChecksumAlgorithm;
  readonly value: string;
  readonly type: ChecksumType;
}

/** One part's checksum and the number of bytes it covers. */
export interface PartChecksum {
  readonly value: string;
  readonly sizeBytes: number;
}

const CRCS: Partial<Record<ChecksumAlgorithm, CrcKind>> = { CRC32, CRC32C, CRC64NVME };
type HashAlgorithm = Exclude<ChecksumAlgorithm, "CRC32" | "CRC32C" | "CRC64NVME">;
const HASH_BYTES: Readonly<Record<HashAlgorithm, number>> = {
  MD5: 16,
  SHA1: 20,
  SHA256: 32,
  SHA512: 64,
};

export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return (CHECKSUM_ALGORITHMS as readonly string[]).includes(name);
}

export function createChecksum(algorithm: ChecksumAlgorithm): Digest {
  const crc = CRCS[algorithm];
  if (crc !== undefined) return createCrc(crc);
  return createDigest(algorithm.toLowerCase() as Lowercase<HashAlgorithm>);
}

/** Bytes of a digest, to recognise a malformed checksum. */
export function checksumBytes(algorithm: ChecksumAlgorithm): number {
  const crc = CRCS[algorithm];
  return crc === undefined ? HASH_BYTES[algorithm as HashAlgorithm] : crc.bits / 8;
}

/** Whether part checksums of this algorithm combine to that of the whole object. */
export function hasFullObject(algorithm: ChecksumAlgorithm): boolean {
  return CRCS[algorithm] !== undefined;
}

/** The type S3 uses if the client does not choose one. */
export function defaultChecksumType(algorithm: ChecksumAlgorithm): ChecksumType {
  return algorithm === "CRC64NVME" ? "FULL_OBJECT" : "COMPOSITE";
}

/** The checksum of a multipart object (K1). */
export function checksumOfParts(
  algorithm: ChecksumAlgorithm,
  type: ChecksumType,
  parts: readonly PartChecksum[],
): Checksum {
  const crc = CRCS[algorithm];
  if (type === "FULL_OBJECT" && crc !== undefined) {
    let whole = 0n;
    for (const part of parts) whole = combineCrc(crc, whole, numberOf(part.value), part.sizeBytes);
    const hex = whole.toString(16).padStart(crc.bits / 4, "0");
    return { algorithm, type, value: Buffer.from(hex, "hex").toString("base64") };
  }
  const digest = createChecksum(algorithm);
  for (const part of parts) digest.update(Buffer.from(part.value, "base64"));
  const value = `${Buffer.from(digest.digest()).toString("base64")}-${parts.length}`;
  return { algorithm, type: "COMPOSITE", value };
}

function numberOf(value: string): bigint {
  return BigInt(`0x${Buffer.from(value, "base64").toString("hex")}`);
}
