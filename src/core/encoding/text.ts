// Text: rules of the wire protocols for strings.
//   X1. SQS accepts the characters of XML 1.0 and no others: tab, line feed, carriage return,
//       U+0020-U+D7FF, U+E000-U+FFFD, U+10000-U+10FFFF. A lone surrogate is not one of them.
//   X2. Lengths are UTF-8 bytes, never UTF-16 units.

/** Length as UTF-8 (X2); a lone surrogate counts as U+FFFD, which replaces it in UTF-8. */
export function utf8ByteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

// Everything forbidden but lone surrogates, which the engine finds faster than any pattern.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Whether `text` contains a character that SQS rejects (X1). On the broker's hot path. */
export function hasInvalidXmlCharacter(text: string): boolean {
  return FORBIDDEN.test(text) || !text.isWellFormed();
}

const ELLIPSIS = "…";

/**
 * At most `unitsMax` UTF-16 units of `text` for a message to people, with an ellipsis if it was
 * truncated. Never splits a surrogate pair.
 */
export function clampText(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  if (unitsMax <= 0) return "";
  let end = unitsMax - ELLIPSIS.length;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end--;
  return text.slice(0, end) + ELLIPSIS;
}
