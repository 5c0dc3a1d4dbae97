// Key hash: the numbers by which a SQLite file finds and orders record keys, instead of repeating
// their text in every index.
//   H1. A record key is a digest ("k1:" and 64 hexadecimal digits), so its first digits are as good
//       as a hash. Any other text is hashed, with its scope.
//   H2. Ranks have the order of keys by UTF-8 bytes: a key that comes first never has the higher
//       rank. Equal ranks are rare among digests, and the key itself decides between them.
//   H3. Both have at most 47 bits: SQLite stores them in six bytes, and a JavaScript number
//       represents them exactly.

const PREFIX = "k1:";
const KEY_LENGTH = PREFIX.length + 64;
/** Hexadecimal digits in a rank: 44 bits (H3). */
const DIGITS = 11;
const RANK_MAX = 16 ** DIGITS - 1;
const ZERO = 0x30;
const NINE = 0x39;
const A = 0x61;
const F = 0x66;

/** The first digits of a digest as a number; -1 if the key is not a digest. */
function leadingDigits(key: string): number {
  if (key.length !== KEY_LENGTH || !key.startsWith(PREFIX)) return -1;
  let high = 0;
  let low = 0;
  for (let at = 0; at < DIGITS; at += 1) {
    const unit = key.charCodeAt(PREFIX.length + at);
    const isDigit = unit >= ZERO && unit <= NINE;
    if (!isDigit && (unit < A || unit > F)) return -1;
    const digit = isDigit ? unit - ZERO : unit - A + 10;
    if (at < DIGITS - 6) high = (high << 4) | digit;
    else low = (low << 4) | digit;
  }
  return high * 0x1000000 + low;
}

export function hashKey(scopeId: number, key: string): number {
  const digits = leadingDigits(key);
  if (digits >= 0) return digits; // H1
  let a = 0x811c9dc5 ^ scopeId;
  let b = 0x9e3779b9 ^ scopeId;
  for (let at = 0; at < key.length; at += 1) {
    const unit = key.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b ^= b >>> 15;
  }
  return (a >>> 0) * 0x8000 + ((b ^ (b >>> 13)) & 0x7fff);
}

/** H2 */
export function rankOf(key: string): number {
  const digits = leadingDigits(key);
  if (digits >= 0) return digits;
  if (!key.startsWith(PREFIX)) return key < PREFIX ? 0 : RANK_MAX;
  let rank = 0;
  for (let at = 0; at < DIGITS; at += 1) {
    const span = 16 ** (DIGITS - 1 - at);
    const unit = at + PREFIX.length < key.length ? key.charCodeAt(at + PREFIX.length) : 0;
    if (unit < ZERO) return rank;
    if (unit > F) return rank + 16 * span - 1;
    if (unit > NINE && unit < A) return rank + 10 * span - 1; // After all of "9", before "a".
    rank += (unit <= NINE ? unit - ZERO : unit - A + 10) * span;
  }
  return rank;
}
