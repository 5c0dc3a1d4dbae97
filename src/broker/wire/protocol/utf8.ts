// UTF-8: from the bytes of a request to text, or to nothing if they are no text.

import { isUtf8 } from "node:buffer";

const REPLACEMENT = "\uFFFD";

/** The text of `bytes`, or null when they are not UTF-8: nothing is ever replaced in silence. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  // Only text in which something was replaced, or that holds the character itself, needs the check.
  return text.includes(REPLACEMENT) && !isUtf8(buffer) ? null : text;
}
