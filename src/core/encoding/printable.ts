// Printable: text that a terminal shows and does not obey.
//   P1. Object keys, messages, errors and server responses come from others. A control or escape
//       character in them could move the cursor, hide text or type into the shell. A bidirectional
//       control could reorder a line, so that it reads differently from its content.
//   P2. Such a character is replaced by its \u escape. Inside JSON that is the same value, so a
//       line of JSON stays valid and unchanged in meaning.

/**
 * C0 except tab and line feed, DEL, C1, the bidirectional controls (marks, embeddings, overrides,
 * isolates), and Unicode's own line separators.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** `text` without control characters; tabs and line feeds stay. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Like `printable`, on one line: content cannot forge a second one. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
