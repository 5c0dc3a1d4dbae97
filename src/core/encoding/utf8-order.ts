// UTF-8 order: how S3 sorts keys, and SQLite text: by UTF-8 bytes.
//   U1. This is the order of code points. JavaScript compares UTF-16 units, which sort characters
//       beyond U+FFFF (surrogates) before U+E000; everything else is the same.

const SURROGATE_FIRST = 0xd800;
const SURROGATE_LAST = 0xdfff;

/** A comparator for sort. Both texts must be well-formed. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    const leftBeyond = left >= SURROGATE_FIRST && left <= SURROGATE_LAST;
    const rightBeyond = right >= SURROGATE_FIRST && right <= SURROGATE_LAST;
    if (leftBeyond !== rightBeyond) return leftBeyond ? 1 : -1; // U1
    return left - right;
  }
  return a.length - b.length;
}
