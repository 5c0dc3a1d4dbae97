// Row check: a 32-bit checksum in every row, so that a read detects a flipped bit inside a value.
// SQLite verifies the structure; this verifies the values.
//   K1. A checksum covers every column of its row that the broker uses, including the key.
//   K2. A checksum never changes meaning within one schema version.
//   K3. Short values are collected in one buffer: calls of crc32 cost more than bytes.

import { crc32 } from "node:zlib";

type Value = string | number | null | Uint8Array;

const NUMBER = new Float64Array(1);
const NUMBER_BYTES = new Uint8Array(NUMBER.buffer);
/** Differs from the empty text, and from any number, which has eight bytes. */
const NULL_MARK = 0xff;
/** Follows every text, to separate it from the next one. */
const TEXT_MARK = 0x01;
const ASCII_MAX = 0x7f;
/** Bytes that wait for the next call of crc32 (K3). */
const WAITING = new Uint8Array(1_024);

/** The checksum of one row's values, in column order. */
export function rowCheck(...values: readonly Value[]): number {
  let check = 0;
  let length = 0;
  for (const value of values) {
    const bytes = typeof value === "number" || value === null ? NUMBER_BYTES.length : value.length;
    if (length + bytes >= WAITING.length) {
      check = checkWaiting(length, check);
      length = 0;
    }
    if (value === null) {
      WAITING[length] = NULL_MARK;
      length += 1;
    } else if (typeof value === "number") {
      NUMBER[0] = value;
      WAITING.set(NUMBER_BYTES, length);
      length += NUMBER_BYTES.length;
    } else {
      if (bytes < WAITING.length && (typeof value !== "string" || writeAscii(value, length))) {
        if (typeof value !== "string") WAITING.set(value, length);
        length += bytes;
      } else {
        check = crc32(value, checkWaiting(length, check));
        length = 0;
      }
      WAITING[length] = TEXT_MARK;
      length += 1;
    }
  }
  return checkWaiting(length, check);
}

function checkWaiting(length: number, check: number): number {
  return length === 0 ? check : crc32(WAITING.subarray(0, length), check);
}

/** Writes a text to WAITING; false if it has other than ASCII characters. */
function writeAscii(text: string, at: number): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > ASCII_MAX) return false;
    WAITING[at + index] = code;
  }
  return true;
}
