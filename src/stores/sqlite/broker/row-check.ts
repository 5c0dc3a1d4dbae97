// Row checks: a 32-bit check beside every row, so that a flipped bit inside a value is found when
// the row is read, not believed. Structure is SQLite's to verify; values are ours.
//   K1. A check covers every column of its row that a broker acts on, its key included.
//   K2. A check never changes meaning within one schema version.

import { crc32 } from "node:zlib";

type Value = string | number | null | Uint8Array;

const NUMBER = new Float64Array(1);
const NUMBER_BYTES = new Uint8Array(NUMBER.buffer);
/** Told apart from the empty text, and from any number, whose bytes are eight. */
const NULL_MARK = Uint8Array.of(0xff);
const TEXT_MARK = Uint8Array.of(0x01);

/** The check of one row's values in the order of its columns. */
export function rowCheck(...values: readonly Value[]): number {
  let check = 0;
  for (const value of values) {
    if (value === null) {
      check = crc32(NULL_MARK, check);
    } else if (typeof value === "number") {
      NUMBER[0] = value;
      check = crc32(NUMBER_BYTES, check);
    } else {
      // The mark keeps two texts beside each other from being read as one.
      check = crc32(TEXT_MARK, crc32(value, check));
    }
  }
  return check;
}
