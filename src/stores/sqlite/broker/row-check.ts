// Row check: a 32-bit checksum in every row, so that a read detects a flipped bit inside a value.
// SQLite verifies the structure; this verifies the values.
//   K1. A checksum covers every column of its row that the broker uses, including the key.
//   K2. A checksum never changes meaning within one schema version.

import { crc32 } from "node:zlib";

type Value = string | number | null | Uint8Array;

const NUMBER = new Float64Array(1);
const NUMBER_BYTES = new Uint8Array(NUMBER.buffer);
/** Differs from the empty text, and from any number, which has eight bytes. */
const NULL_MARK = Uint8Array.of(0xff);
/** Follows every text, to separate it from the next one. */
const TEXT_MARK = "\u0001";
const TEXT_MARK_BYTES = Uint8Array.of(0x01);

/** The checksum of one row's values, in column order. */
export function rowCheck(...values: readonly Value[]): number {
  let check = 0;
  // Texts that follow each other are one call: calls cost more than bytes.
  let text = "";
  for (const value of values) {
    if (typeof value === "string") {
      text += value + TEXT_MARK;
      continue;
    }
    if (text !== "") check = crc32(text, check);
    text = "";
    if (value === null) {
      check = crc32(NULL_MARK, check);
    } else if (typeof value === "number") {
      NUMBER[0] = value;
      check = crc32(NUMBER_BYTES, check);
    } else {
      check = crc32(TEXT_MARK_BYTES, crc32(value, check));
    }
  }
  return text === "" ? check : crc32(text, check);
}
