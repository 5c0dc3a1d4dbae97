// Hash: the only import of node:crypto in core. Digests only: no randomness, no clock, and
// keys only as arguments.
//   H1. Text is hashed as UTF-8. Node writes a lone surrogate as U+FFFD, so two malformed texts can
//       share a digest: code that hashes identities checks `isWellFormed` first.
//   H2. MD5 is here because SQS and S3 use it on the wire. It provides no security. HMAC-SHA1
//       is here for signatures of version 2.
//   H3. Secrets are compared in a time that depends on their lengths only.

import { createHash, createHmac, hash, timingSafeEqual } from "node:crypto";
import { assert } from "../assert.ts";

/** Text (hashed as UTF-8) or bytes. */
export type Hashable = string | Uint8Array;

export function sha256Hex(data: Hashable): string {
  return hash("sha256", data, "hex");
}

/** The digest as a text of 32 characters, one for each byte: the cheapest form of a short text. */
export function sha256Latin1(data: Hashable): string {
  return hash("sha256", data, "binary");
}

export function sha256Bytes(data: Hashable): Uint8Array {
  return hash("sha256", data, "buffer");
}

/** The digest of all parts concatenated; it does not depend on where they are split. */
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

/** The MD5 of all parts concatenated, as S3 computes the ETag of a multipart upload. */
export function md5HexOfParts(parts: Iterable<Hashable>): string {
  const digest = createHash("md5");
  for (const part of parts) digest.update(part);
  return digest.digest("hex");
}

/** A running digest, for bytes that are never in memory all at once. */
export interface Digest {
  update(chunk: Uint8Array): void;
  digest(): Uint8Array;
}

export function createDigest(algorithm: "md5" | "sha1" | "sha256" | "sha512"): Digest {
  const digest = createHash(algorithm);
  return {
    update: (chunk) => void digest.update(chunk),
    digest: () => digest.digest(),
  };
}

export function hmacSha256(key: Hashable, data: Hashable): Uint8Array {
  return createHmac("sha256", key).update(data).digest();
}

const BLOCK_BYTES = 64;

/**
 * As hmacSha256 for a key of at most one block, in hex. It is two digests: Node prepares the key of
 * each Hmac object, which takes ten times as long.
 */
export function hmacSha256Hex(key: Uint8Array, data: string): string {
  assert(key.length <= BLOCK_BYTES, "the key fits into one block");
  const text = Buffer.from(data);
  const inner = Buffer.alloc(BLOCK_BYTES + text.length, 0x36, "latin1");
  const outer = Buffer.alloc(BLOCK_BYTES, 0x5c, "latin1");
  for (let at = 0; at < key.length; at += 1) {
    inner[at] = 0x36 ^ (key[at] as number);
    outer[at] = 0x5c ^ (key[at] as number);
  }
  text.copy(inner, BLOCK_BYTES);
  return hash("sha256", Buffer.concat([outer, hash("sha256", inner, "buffer")]), "hex");
}

export function hmacSha1Base64(key: Hashable, data: Hashable): string {
  return createHmac("sha1", key).update(data).digest("base64"); // H2
}

/** Whether two texts are equal, in a time that tells nothing of where they differ (H3). */
export function isSameSecret(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
