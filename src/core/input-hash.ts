// Input hash: a hash of the bytes of an input, or the reason why there is none.
//   N1. A hash covers all bytes of the input. It names its algorithm: `sha256:` and hexadecimal
//       digits for bytes that were read to their end, else the algorithm of the service that
//       stores the object, such as `crc64nvme:`.
//   N2. A reason takes the place of a hash that does not exist; nothing is hashed in part.

import { CHECKSUM_ALGORITHMS, type Checksum } from "./encoding/checksum.ts";

/**
 * - `not-read`: the handler did not read the object.
 * - `read-in-part`: it read a part, and the service has no checksum of the whole object.
 * - `removed`: the event is the removal of the object.
 * - `masked`: the hash of a short message could reveal a value that the pipeline masks.
 * - `not-committed`: no attempt at the record has succeeded.
 * - `not-recorded`: the record was committed by a version that recorded no hashes.
 */
export const NO_HASH_REASONS = [
  "not-read",
  "read-in-part",
  "removed",
  "masked",
  "not-committed",
  "not-recorded",
] as const;
export type NoHashReason = (typeof NO_HASH_REASONS)[number];

/** One of the two is null. */
export type InputHash =
  | { readonly hash: string; readonly noHash: null }
  | { readonly hash: null; readonly noHash: NoHashReason };

const NONE = "none:";
const STORED = /^([a-z0-9]+):([A-Za-z0-9+/]+=*)$/;
const ALGORITHMS: ReadonlySet<string> = new Set(
  CHECKSUM_ALGORITHMS.map((algorithm) => algorithm.toLowerCase()),
);

export function noHash(reason: NoHashReason): InputHash {
  return { hash: null, noHash: reason };
}

export function sha256InputHash(digest: Uint8Array): InputHash {
  return { hash: `sha256:${Buffer.from(digest).toString("hex")}`, noHash: null };
}

/** The service's checksum of a whole object; null for one of parts (N1). */
export function checksumInputHash({ algorithm, value, type }: Checksum): InputHash | null {
  if (type !== "FULL_OBJECT") return null;
  const hex = Buffer.from(value, "base64").toString("hex");
  return { hash: `${algorithm.toLowerCase()}:${hex}`, noHash: null };
}

/** The short form that a commit stores. */
export function encodeInputHash({ hash, noHash: reason }: InputHash): string {
  if (hash === null) return `${NONE}${reason}`;
  const [algorithm, hex = ""] = hash.split(":");
  return `${algorithm}:${Buffer.from(hex, "hex").toString("base64").replace(/=+$/, "")}`;
}

/** The hash that a commit stored; `not-recorded` for any other text. */
export function decodeInputHash(stored: unknown): InputHash {
  if (typeof stored !== "string") return noHash("not-recorded");
  const reason = NO_HASH_REASONS.find((one) => stored === `${NONE}${one}`);
  if (reason !== undefined) return noHash(reason);
  const [, algorithm = "", value = ""] = STORED.exec(stored) ?? [];
  if (!ALGORITHMS.has(algorithm)) return noHash("not-recorded");
  return { hash: `${algorithm}:${Buffer.from(value, "base64").toString("hex")}`, noHash: null };
}
