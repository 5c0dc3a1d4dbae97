import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JSON_DEPTH_MAX } from "./canonical-json.ts";
import { parseStrictJson } from "./strict-json.ts";

function jsonParse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

describe("agreement with JSON.parse", () => {
  test("any text of JSON.stringify is parsed as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseStrictJson(text)).toEqual({ kind: "value", value: JSON.parse(text) });
      }),
    );
  });

  test("a text that JSON.parse rejects is rejected, and accepted texts have the same value", () => {
    const pieces = [
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"a"',
      '"b',
      '"',
      "\\",
      "\\u00e",
      "\\n",
      " ",
      "\n",
    ];
    const numbers = ["0", "-", "01", "1.", ".5", "1e", "1e+5", "-0", "12", "true", "nul", "null"];
    const odd = ["\u0000", "\u00a0", "\ufeff", "'", "/", "NaN", "undefined", "\ud800"];
    const piece = fc.constantFrom(...pieces, ...numbers, ...odd);
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), (parts) => {
        const text = parts.join("");
        const strict = parseStrictJson(text);
        const loose = jsonParse(text);
        if (strict.kind === "value") expect(loose).toEqual({ value: strict.value });
        if (loose === undefined) expect(strict.kind).toBe("invalid");
      }),
      { numRuns: 2_000 },
    );
  });

  test("every truncation of a text is rejected without an exception", () => {
    const text = JSON.stringify({ a: [1.5e3, "x\ny", { b: null }], é: true, c: "\u{1f600}" });
    for (let end = 0; end < text.length; end++) {
      expect(parseStrictJson(text.slice(0, end)).kind).toBe("invalid");
    }
  });
});

describe("texts that JSON.parse accepts", () => {
  test.each([
    ["a name used twice", '{"a":{"k":1,"b":2,"k":3}}', "name is used twice", "/a/k"],
    ["a name used twice, once escaped", '{"k":1,"\\u006b":2}', "name is used twice", "/k"],
    ["__proto__ used twice", '{"__proto__":1,"__proto__":2}', "name is used twice", "/__proto__"],
    ["an escaped lone surrogate", '["\\ud83d"]', "lone surrogate in a string", "/0"],
    ["a lone surrogate", '["\ud83d"]', "lone surrogate in a string", "/0"],
    ["a lone surrogate in a name", '{"a":{"\\udc00":1}}', "lone surrogate in a string", "/a"],
    ["2^53 + 1", '{"id":9007199254740993}', "number loses digits as a double", "/id"],
    ["a digit after very many zeros", `{"id":1.${"0".repeat(1_000_000)}1e20}`, "loses", "/id"],
    ["2^53 + 1 by exponent", '{"id":900719925474099.3e1}', "number loses digits", "/id"],
    ["a fraction beyond 2^53", "[9007199254740993.5]", "number loses digits", "/0"],
    ["overflow", "[1e400]", "number is too large for a double", "/0"],
    ["underflow", "[1e-400]", "number is too small for a double", "/0"],
    ["negative underflow", "[-0.0001e-400]", "number is too small for a double", "/0"],
  ])("%s is rejected, with its position", (_, text, reason, pointer) => {
    const parsed = parseStrictJson(text);
    expect(parsed).toMatchObject({ kind: "invalid", place: pointer });
    if (parsed.kind === "invalid") expect(parsed.reason).toContain(reason);
  });

  test.each([
    ["9007199254740992", 2 ** 53],
    ["9007199254740991", 2 ** 53 - 1],
    ["1e21", 1e21],
    ["100000000000000000000000", 1e23],
    ["295147905179352830000", 2 ** 68],
    ["0.1", 0.1],
    ["0e5", 0],
    ["0.000", 0],
    ["-0", -0],
    ["5e-324", 5e-324],
  ])("the number %s survives", (text, value) => {
    expect(parseStrictJson(text)).toEqual({ kind: "value", value });
  });
});

describe("rejections say where", () => {
  test.each([
    ["", "text ends too early", 0],
    ["  ", "text ends too early", 2],
    ["{} x", "text continues after its value", 3],
    ['{"a" 1}', "expected a colon", 5],
    ["{a:1}", "expected a member name", 1],
    ["[1 2]", "expected a comma or the end of the array", 3],
    ['{"a":1 "b":2}', "expected a comma or the end of the object", 7],
    ['["a\nb"]', "control character in a string", 3],
    ['["ab', "string has no end", 4],
    ['["\\x"]', "bad escape in a string", 1],
    ["[-]", "malformed number", 1],
    ["[tru]", "unexpected character", 1],
    ["\ufeff{}", "unexpected character", 0],
  ])("%j: %s at %i", (text, reason, offset) => {
    expect(parseStrictJson(text)).toMatchObject({ kind: "invalid", reason, offset });
  });

  test("nesting up to the limit is read, one level more is rejected", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    expect(parseStrictJson(nested(JSON_DEPTH_MAX)).kind).toBe("value");
    expect(parseStrictJson(nested(JSON_DEPTH_MAX + 1)).kind).toBe("invalid");
    expect(parseStrictJson('{"a":'.repeat(100_000)).kind).toBe("invalid");
  });

  test("a member called __proto__ does not touch the prototype", () => {
    const parsed = parseStrictJson('{"__proto__":{"polluted":true}}');
    if (parsed.kind === "invalid") throw new Error(parsed.reason);
    expect(Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
    expect(Object.keys(parsed.value as object)).toEqual(["__proto__"]);
  });
});
