// Checksums: what S3 keeps of an object besides its ETag, and how those of parts become that of the
// whole.
//   K1. A checksum is told as base64. That of a whole object covers all of its bytes; a composite
//       one is the digest of the digests of the parts, followed by their number.

import { CRC32, CRC32C, CRC64NVME, type CrcKind, combineCrc, createCrc } from "./crc.ts";
import { createDigest, type Digest } from "./hash.ts";

export const CHECKSUM_ALGORITHMS = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"] as const;
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

export function isChecksumAlgorithm(name: string): name is ChecksumAlgorithm {
  return (CHECKSUM_ALGORITHMS as readonly string[]).includes(name);
}

export function createChecksum(algorithm: ChecksumAlgorithm): Digest {
  const crc = CRCS[algorithm];
  if (crc !== undefined) return createCrc(crc);
  return createDigest(algorithm === "SHA1" ? "sha1" : "sha256");
}

/** Bytes of a digest; tells a well-formed checksum from one that can never fit. */
export function checksumBytes(algorithm: ChecksumAlgorithm): number {
  const crc = CRCS[algorithm];
  if (crc !== undefined) return crc.bits / 8;
  return algorithm === "SHA1" ? 20 : 32;
}

/** Whether parts with this algorithm can give the checksum of the whole object. */
export function hasFullObject(algorithm: ChecksumAlgorithm): boolean {
  return CRCS[algorithm] !== undefined;
}

/** What S3 does when the client does not say. */
export function defaultChecksumType(algorithm: ChecksumAlgorithm): ChecksumType {
  return algorithm === "CRC64NVME" ? "FULL_OBJECT" : "COMPOSITE";
}

/** The checksum of an object made of parts (K1). */
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
