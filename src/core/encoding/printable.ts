// Printable: text that a terminal shows and does not obey.
//   P1. Object keys, messages, errors and server responses come from others. A control or escape
//       character in them could move the cursor, hide text or type into the shell. A bidirectional
//       control could reorder a line, so that it reads differently from its content. A character
//       without width makes two different names look the same.
//   P2. Such a character is replaced by its \u escape. Inside JSON that is the same value, so a
//       line of JSON stays valid and unchanged in meaning.

/**
 * C0 except tab and line feed, DEL, C1, the bidirectional controls (marks, embeddings, overrides,
 * isolates), Unicode's own line separators, and characters without width. Joiners stay between
 * other than ASCII characters, where emoji and some scripts need them.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|(?<![^\u0000-\u007f])[\u200c\u200d]|[\u200c\u200d](?![^\u0000-\u007f])/g;

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
