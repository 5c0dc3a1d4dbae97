// Key encoding: tuples of plain values as bytes, so that they can be hashed as identities.
//   K1. Injective: two different tuples never give the same bytes. Every part carries its kind
//       and its length, and the tuple its number of parts, so ["a","bc"], ["ab","c"] and ["abc"]
//       differ, as do null, "", 0 and "0".
//   K2. Versioned: the version of the scheme is hashed and stands in front of the digest, so that
//       keys of two schemes never meet, neither by chance nor in a table.
//   K3. Text must be well-formed: UTF-8 has no lone surrogates and would fold them all into one.
// By convention the first part says what the tuple is ("object-state", "dedup"), so that two
// kinds of identity with the same fields differ.

import { TidegateError } from "./errors.ts";
import { sha256Hex } from "./hash.ts";

export type KeyPart = string | null | number | Uint8Array;

const TAG_NULL = 0;
const TAG_TEXT = 1;
const TAG_INTEGER = 2;
const TAG_BYTES = 3;

const COUNT_BYTES = 4;
const TAG_BYTES_LENGTH = 1;
const LENGTH_BYTES = 4;
const INTEGER_BYTES = 8;

const KEY_PARTS_MAX = 64;
const KEY_VERSION_MAX = 255;
const DIGEST_PATTERN = /^k(?:[1-9][0-9]{0,2}):[0-9a-f]{64}$/;

const encoder = new TextEncoder();

/** The bytes of a tuple: its count, then tag, length and content of each part (K1). */
export function encodeKey(parts: readonly KeyPart[]): Uint8Array {
  if (parts.length > KEY_PARTS_MAX) throw invalid(`a key has at most ${KEY_PARTS_MAX} parts`);
  const contents = parts.map(contentOf);
  let length = COUNT_BYTES;
  for (const content of contents) length += TAG_BYTES_LENGTH + LENGTH_BYTES + content.length;
  const encoded = new Uint8Array(length);
  const view = new DataView(encoded.buffer);
  view.setUint32(0, parts.length);
  let at = COUNT_BYTES;
  contents.forEach((content, index) => {
    view.setUint8(at, tagOf(parts[index] as KeyPart));
    view.setUint32(at + TAG_BYTES_LENGTH, content.length);
    at += TAG_BYTES_LENGTH + LENGTH_BYTES;
    encoded.set(content, at);
    at += content.length;
  });
  return encoded;
}

/** The identity of a tuple under one version of its scheme: `k<version>:<sha256 in hex>` (K2). */
export function keyDigest(version: number, parts: readonly KeyPart[]): string {
  if (!Number.isInteger(version) || version < 1 || version > KEY_VERSION_MAX) {
    throw invalid(`version ${version} is not between 1 and ${KEY_VERSION_MAX}`);
  }
  return `k${version}:${sha256Hex(encodeKey([version, ...parts]))}`;
}

/** Whether `text` looks like an answer of `keyDigest`, of whatever version. */
export function isKeyDigest(text: string): boolean {
  return DIGEST_PATTERN.test(text);
}

function tagOf(part: KeyPart): number {
  if (part === null) return TAG_NULL;
  if (typeof part === "string") return TAG_TEXT;
  return typeof part === "number" ? TAG_INTEGER : TAG_BYTES;
}

const NOTHING = new Uint8Array(0);

function contentOf(part: KeyPart): Uint8Array {
  if (part === null) return NOTHING;
  if (typeof part === "string") {
    if (!part.isWellFormed()) throw invalid("text holds a lone surrogate"); // K3
    return encoder.encode(part);
  }
  if (typeof part !== "number") return part;
  if (!Number.isSafeInteger(part)) throw invalid(`${part} is no whole number a double can hold`);
  const content = new Uint8Array(INTEGER_BYTES);
  new DataView(content.buffer).setBigInt64(0, BigInt(part));
  return content;
}

function invalid(what: string): TidegateError {
  return new TidegateError("TG_VALUE_INVALID", `cannot be part of a key: ${what}`);
}
