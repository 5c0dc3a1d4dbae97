import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clampText, hasInvalidXmlCharacter, utf8ByteLength } from "./text.ts";

/** The rule as AWS documents it, by code point. */
function isXmlCodePoint(point: number): boolean {
  return (
    point === 0x9 ||
    point === 0xa ||
    point === 0xd ||
    (point >= 0x20 && point <= 0xd7ff) ||
    (point >= 0xe000 && point <= 0xfffd) ||
    (point >= 0x10000 && point <= 0x10ffff)
  );
}

const isXmlText = (text: string): boolean =>
  [...text].every((character) => isXmlCodePoint(character.codePointAt(0) as number));

describe("characters that SQS accepts (X1)", () => {
  test("every single UTF-16 unit is judged by AWS's rule", () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const text = String.fromCharCode(unit);
      if (hasInvalidXmlCharacter(text) === isXmlCodePoint(unit)) {
        expect.fail(`unit ${unit.toString(16)} was misjudged`);
      }
    }
  });

  test("texts of any units, paired or not, are judged by AWS's rule", () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.integer({ min: 0xd7fe, max: 0xe001 }),
      fc.integer({ min: 0xfffc, max: 0xffff }),
      fc.integer({ min: 0, max: 0x21 }),
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 8 }), (units) => {
        const text = String.fromCharCode(...units);
        expect(hasInvalidXmlCharacter(text)).toBe(!isXmlText(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test("an emoji is valid, its halves are not", () => {
    expect(hasInvalidXmlCharacter("ok \u{1f600}\t\r\n")).toBe(false);
    expect(hasInvalidXmlCharacter("ok \ud83d")).toBe(true);
    expect(hasInvalidXmlCharacter("\ude00")).toBe(true);
  });
});

test("byte length is that of the UTF-8 text (X2)", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(utf8ByteLength(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});

describe("clampText", () => {
  test("a text that fits is unchanged, a longer one ends in an ellipsis", () => {
    expect(clampText("abc", 3)).toBe("abc");
    expect(clampText("abcd", 3)).toBe("ab…");
    expect(clampText("abcd", 1)).toBe("…");
    expect(clampText("abcd", 0)).toBe("");
  });

  test("well-formed text stays well-formed and within the limit", () => {
    const text = fc.string({ unit: "binary" }).filter((value) => value.isWellFormed());
    fc.assert(
      fc.property(text, fc.nat(20), (value, max) => {
        const clamped = clampText(value, max);
        expect(clamped.length).toBeLessThanOrEqual(max);
        expect(clamped.isWellFormed()).toBe(true);
      }),
    );
  });
});
