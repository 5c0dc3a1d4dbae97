// Hash: the one door from core to node:crypto. Digests only: no keys, no chance, no clock.
//   H1. Text is hashed as UTF-8. Node writes a lone surrogate as U+FFFD, so two malformed texts
//       can share a digest: whoever hashes identities checks `isWellFormed` first.
//   H2. MD5 is here because SQS and S3 put it on the wire. It vouches for nothing.

import { createHash, hash } from "node:crypto";

/** What can be hashed: text (as UTF-8) or bytes. */
export type Hashable = string | Uint8Array;

export function sha256Hex(data: Hashable): string {
  return hash("sha256", data, "hex");
}

export function sha256Bytes(data: Hashable): Uint8Array {
  return hash("sha256", data, "buffer");
}

/** The digest of all parts put together; says nothing about where one ends and the next begins. */
export function sha256HexOfParts(parts: Iterable<Hashable>): string {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return digest.digest("hex");
}

export function md5Hex(data: Hashable): string {
  return hash("md5", data, "hex");
}

export function md5Bytes(data: Hashable): Uint8Array {
  return hash("md5", data, "buffer");
}

/** The MD5 of all parts put together, as S3 computes the ETag of a multipart upload. */
export function md5HexOfParts(parts: Iterable<Hashable>): string {
  const digest = createHash("md5");
  for (const part of parts) digest.update(part);
  return digest.digest("hex");
}

/** A digest taken bit by bit, for bytes that never lie together in memory. */
export interface Digest {
  update(chunk: Uint8Array): void;
  digest(): Uint8Array;
}

export function createDigest(algorithm: "md5" | "sha1" | "sha256"): Digest {
  const digest = createHash(algorithm);
  return {
    update: (chunk) => void digest.update(chunk),
    digest: () => digest.digest(),
  };
}
