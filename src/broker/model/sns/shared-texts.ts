// SharedTexts: the long texts of one published message, written once for all of its copies.
//   X1. A copy is a concatenation with shared texts. V8 stores it as references to its parts until
//       someone needs the characters. So a thousand copies of a long message hold it once, as long
//       as no one looks into a copy: its size is the sum of the sizes of its parts.

import { utf8ByteLength } from "../../../core/encoding/text.ts";

export interface SharedText {
  readonly text: string;
  /** As UTF-8. */
  readonly bytes: number;
}

interface Entry extends SharedText {
  readonly kind: string;
  readonly source: unknown;
}

export const NO_TEXT: SharedText = { text: "", bytes: 0 };

export class SharedTexts {
  /** A handful: one per kind of text, and per protocol if the bodies differ. */
  readonly #entries: Entry[] = [];

  /** The text of this kind that was made of `source`; `write` makes it the first time. */
  of(kind: string, source: unknown, write: () => string): SharedText {
    const existing = this.#entries.find((each) => each.kind === kind && each.source === source);
    if (existing !== undefined) return existing;
    const text = write();
    const entry = { kind, source, text, bytes: utf8ByteLength(text) };
    this.#entries.push(entry);
    return entry;
  }
}
