// Key encoding: tuples of plain values as bytes, so that they can be hashed as identities.
//   K1. Injective: two different tuples never give the same bytes. Every part includes its kind and
//       length, and the tuple its number of parts, so ["a","bc"], ["ab","c"] and ["abc"] differ, as
//       do null, "", 0 and "0".
//   K2. Versioned: the version of the scheme is hashed and precedes the digest, so that keys of two
//       schemes never collide, neither accidentally nor in a table.
//   K3. Text must be well-formed: UTF-8 has no lone surrogates and would map them all to one
//       character.
//   K4. Keys of short ASCII parts, which is what most are, are written into one buffer that every
//       call uses again, byte by byte. It is hashed before the next call. The bytes are the same.
// By convention the first part says what the tuple is ("object-state", "dedup"), so that two kinds
// of identity with the same fields differ.

import { TidegateError } from "../errors.ts";
import { sha256Hex } from "./hash.ts";
import { utf8ByteLength } from "./text.ts";

export type KeyPart = string | null | number | Uint8Array;

const TAG_NULL = 0;
const TAG_TEXT = 1;
const TAG_INTEGER = 2;
const TAG_BYTES = 3;

const COUNT_BYTES = 4;
/** Tag and length, in front of every part. */
const HEAD_BYTES = 5;
const INTEGER_BYTES = 8;
const WORD = 2 ** 32;
/** Up to this length, writing byte by byte is faster than calling Node. */
const SHORT_TEXT_MAX = 80;

const KEY_PARTS_MAX = 64;
const KEY_VERSION_MAX = 255;

/** The bytes of a tuple: its count, then tag, length and content of each part (K1). */
export function encodeKey(parts: readonly KeyPart[]): Uint8Array {
  if (parts.length > KEY_PARTS_MAX) throw invalid(`a key has at most ${KEY_PARTS_MAX} parts`);
  let length = COUNT_BYTES;
  for (const part of parts) length += HEAD_BYTES + contentBytes(part);
  // One buffer, filled completely: keys are built several times for every record.
  const encoded = Buffer.allocUnsafe(length);
  encoded.writeUInt32BE(parts.length, 0);
  let at = COUNT_BYTES;
  for (const part of parts) at += writePart(encoded, at, part);
  return encoded;
}

/** The identity of a tuple under one version of its scheme: `k<version>:<sha256 in hex>` (K2). */
export function keyDigest(version: number, parts: readonly KeyPart[]): string {
  if (!Number.isInteger(version) || version < 1 || version > KEY_VERSION_MAX) {
    throw invalid(`version ${version} is not between 1 and ${KEY_VERSION_MAX}`);
  }
  const all = [version, ...parts];
  const length = writeShort(all);
  const encoded = length === null ? encodeKey(all) : SHORT.subarray(0, length);
  return `k${version}:${sha256Hex(encoded)}`;
}

const SHORT_BYTES = 1_024;
const SHORT = new Uint8Array(SHORT_BYTES);
const BYTE_BITS = 8;
const BYTE_MAX = 0xff;

/** Writes a tuple into SHORT and returns its length; null if it is not a short one (K4). */
function writeShort(parts: readonly KeyPart[]): number | null {
  if (parts.length > KEY_PARTS_MAX) return null;
  SHORT.fill(0, 0, COUNT_BYTES);
  SHORT[COUNT_BYTES - 1] = parts.length;
  let at = COUNT_BYTES;
  for (const part of parts) {
    if (at + HEAD_BYTES + INTEGER_BYTES > SHORT_BYTES) return null;
    const content = at + HEAD_BYTES;
    let length = 0;
    if (typeof part === "string") {
      if (!writeAscii(part, content)) return null;
      length = part.length;
    } else if (typeof part === "number") {
      if (!(part >= 0 && part <= BYTE_MAX && Number.isInteger(part))) return null;
      length = INTEGER_BYTES;
      SHORT.fill(0, content, content + length);
      SHORT[content + length - 1] = part;
    } else if (part !== null) return null;
    SHORT[at] = part === null ? TAG_NULL : typeof part === "string" ? TAG_TEXT : TAG_INTEGER;
    SHORT[at + 1] = 0;
    SHORT[at + 2] = 0;
    SHORT[at + 3] = length >> BYTE_BITS;
    SHORT[at + 4] = length & BYTE_MAX;
    at = content + length;
  }
  return at;
}

function writeAscii(text: string, at: number): boolean {
  if (at + text.length > SHORT_BYTES) return false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return false;
    SHORT[at + index] = code;
  }
  return true;
}

/** Length of the content; throws if the part cannot be in a key. */
function contentBytes(part: KeyPart): number {
  if (part === null) return 0;
  if (typeof part === "string") {
    if (!part.isWellFormed()) throw invalid("text contains a lone surrogate"); // K3
    return utf8ByteLength(part);
  }
  if (typeof part !== "number") return part.length;
  if (!Number.isSafeInteger(part)) throw invalid(`${part} is not a safe integer`);
  return INTEGER_BYTES;
}

/** Writes one part and returns its number of bytes. */
function writePart(target: Buffer, at: number, part: KeyPart): number {
  const content = at + HEAD_BYTES;
  let tag = TAG_NULL;
  let length = 0;
  if (typeof part === "string") {
    tag = TAG_TEXT;
    length = writeText(target, content, part);
  } else if (typeof part === "number") {
    tag = TAG_INTEGER;
    length = INTEGER_BYTES;
    const high = Math.floor(part / WORD);
    target.writeInt32BE(high, content);
    target.writeUInt32BE(part - high * WORD, content + INTEGER_BYTES / 2);
  } else if (part !== null) {
    tag = TAG_BYTES;
    length = part.length;
    target.set(part, content);
  }
  target.writeUInt8(tag, at);
  target.writeUInt32BE(length, at + 1);
  return HEAD_BYTES + length;
}

function writeText(target: Buffer, at: number, text: string): number {
  if (text.length > SHORT_TEXT_MAX) return target.write(text, at, "utf8");
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return target.write(text, at, "utf8");
    target[at + index] = code;
  }
  return text.length;
}

function invalid(what: string): TidegateError {
  return new TidegateError("TG_VALUE_INVALID", `cannot be part of a key: ${what}`);
}
