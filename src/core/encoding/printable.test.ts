import fc from "fast-check";
import { expect, test } from "vitest";
import { printable, printableLine } from "./printable.ts";

/** Strings with many of the characters that matter. */
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("\u001b[2J", "\u009b31m", "\u202e", "\u2067", "\u200f", "\u061c", "\u007f"),
      fc.constantFrom("\r", "\n", "\t", "\\", "\\u001b", '"', "é", "日本", "😀"),
    ),
  )
  .map((parts) => parts.join(""));

/** By code point, independent of the pattern. */
function isUnsafe(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x09 || code === 0x0a) return false;
  const bidi = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e];
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || [...bidi, ...ISOLATES].includes(code);
}
const ISOLATES = [0x2066, 0x2067, 0x2068, 0x2069];

test("no control, escape or bidirectional character is left (P1)", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect([...printable(text)].filter(isUnsafe)).toEqual([]);
      expect(printableLine(text)).not.toMatch(/[\n\r\u2028\u2029]/);
    }),
  );
});

test("a line of JSON keeps its value (P2)", () => {
  fc.assert(
    fc.property(fc.dictionary(anyText, anyText), (value) => {
      expect(JSON.parse(printableLine(JSON.stringify(value)))).toEqual({ ...value });
    }),
  );
});

test("ordinary text is unchanged, and escaping twice changes nothing more", () => {
  expect(printable("naïve\tcafé 日本 😀 שלום\n")).toBe("naïve\tcafé 日本 😀 שלום\n");
  fc.assert(fc.property(anyText, (text) => printable(printable(text)) === printable(text)));
});

test("an unsafe character is shown as its escape", () => {
  expect(printable("a\u001b[2Jb\r\u202ec\nd")).toBe("a\\u001b[2Jb\\u000d\\u202ec\nd");
  expect(printableLine("a\nb")).toBe("a\\u000ab");
  expect(printable("or\u200bders \ufeffa\u00adb\u2060c")).toBe(
    "or\\u200bders \\ufeffa\\u00adb\\u2060c",
  );
});

test("a joiner is shown beside ASCII, and stays where emoji and scripts need it", () => {
  expect(printable("a\u200db\u200c")).toBe("a\\u200db\\u200c");
  expect(printable("👩\u200d💻 می\u200cخواهم")).toBe("👩\u200d💻 می\u200cخواهم");
});
