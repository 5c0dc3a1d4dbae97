// UTF-8: decodes the bytes of a request, or returns null if they are not UTF-8.

import { isUtf8 } from "node:buffer";

const REPLACEMENT = "\uFFFD";

/** Returns the text of `bytes`, or null if they are not UTF-8. Never replaces bytes silently. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  // Only text that contains the replacement character needs the strict check.
  return text.includes(REPLACEMENT) && !isUtf8(buffer) ? null : text;
}
