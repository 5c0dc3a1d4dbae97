import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TidegateError } from "../errors.ts";
import { canonicalJson, JSON_DEPTH_MAX, type JsonValue } from "./canonical-json.ts";
import { parseStrictJson } from "./strict-json.ts";

/** RFC 8785, appendix B: the bits of a double and the text it must have. */
const RFC_NUMBERS: readonly (readonly [string, string])[] = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
];

function doubleOf(bits: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${bits}`));
  return view.getFloat64(0);
}

/** Values that JSON can represent, with names that stress the order. */
function anyJson(): fc.Arbitrary<JsonValue> {
  const text = fc.string({ unit: "grapheme", maxLength: 8 });
  const leaf = fc.oneof(
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(text, tie("value"), { maxKeys: 6 }),
    ),
  })).value;
}

function shuffled(value: JsonValue, order: () => number): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => shuffled(item, order));
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, member]) => ({ name, member, at: order() }));
  members.sort((left, right) => left.at - right.at);
  return Object.fromEntries(members.map(({ name, member }) => [name, shuffled(member, order)]));
}

function refusalOf(value: unknown): TidegateError {
  try {
    canonicalJson(value);
  } catch (error) {
    if (error instanceof TidegateError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

describe("RFC 8785", () => {
  test.each(RFC_NUMBERS)("the double %s is written %s", (bits, text) => {
    expect(canonicalJson(doubleOf(bits))).toBe(text);
  });

  test("the RFC's example gives the text of section 3.2.4", () => {
    const parsed = parseStrictJson(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`);
    if (parsed.kind === "invalid") throw new Error(parsed.reason);
    expect(canonicalJson(parsed.value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test("names are sorted by UTF-16 code units, as in section 3.2.3", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\u{1f600}": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    expect(Object.values(JSON.parse(canonicalJson(value)) as object)).toHaveLength(7);
    const order = [...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map((match) => match[1]);
    expect(order).toEqual([
      "Carriage Return",
      "One",
      "Control",
      "Latin Small Letter O With Diaeresis",
      "Euro Sign",
      "Emoji: Grinning Face",
      "Hebrew Letter Dalet With Dagesh",
    ]);
  });
});

describe("properties", () => {
  test("the text does not depend on the order of members (J1)", () => {
    fc.assert(
      fc.property(anyJson(), fc.infiniteStream(fc.nat()), (value, stream) => {
        const order = (): number => stream.next().value as number;
        expect(canonicalJson(shuffled(value, order))).toBe(canonicalJson(value));
      }),
    );
  });

  test("parsing the text and writing it again changes nothing (J3)", () => {
    fc.assert(
      fc.property(anyJson(), (value) => {
        const text = canonicalJson(value);
        const parsed = parseStrictJson(text);
        expect(parsed.kind).toBe("value");
        if (parsed.kind === "value") expect(canonicalJson(parsed.value)).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  test("a member called __proto__ is a member like any other", () => {
    const value: unknown = JSON.parse('{"b":1,"__proto__":{"x":2}}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"x":2},"b":1}');
  });

  test("objects without a prototype are plain", () => {
    expect(canonicalJson(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
  });

  test("the same object may occur twice, as long as it does not contain itself", () => {
    const shared = { a: 1 };
    expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });
});

describe("values that JSON cannot represent are rejected with their position (J2)", () => {
  class Point {
    x = 1;
  }
  const sparse: unknown[] = [1, 2];
  sparse[3] = 4;
  const cycle: Record<string, unknown> = {};
  cycle.self = [cycle];
  const hidden = Object.defineProperty({}, "a", { value: 1, enumerable: false });
  test.each<[string, unknown, string]>([
    ["NaN", { a: [1, Number.NaN] }, "/a/1 is NaN"],
    ["Infinity", [Number.NEGATIVE_INFINITY], "/0 is -Infinity"],
    ["undefined", { a: undefined }, "/a is undefined"],
    ["a function", { toJSON: () => 1 }, "/toJSON is a function"],
    ["a symbol", [Symbol("s")], "/0 is a symbol"],
    ["a symbol as name", { [Symbol("s")]: 1 }, "the top has symbol or hidden members"],
    ["a hidden member", hidden, "the top has symbol or hidden members"],
    ["a bigint", { n: 1n }, "/n is a bigint"],
    ["a lone surrogate", { a: "\ud800" }, "/a contains a lone surrogate"],
    ["a lone surrogate in a name", { "\udc00": 1 }, "/\udc00 contains a lone surrogate"],
    ["a cycle", cycle, "/self/0 contains itself"],
    ["a Date", { at: new Date(0) }, "/at is not a plain object"],
    ["a Map", new Map(), "the top is not a plain object"],
    ["a class instance", [new Point()], "/0 is not a plain object"],
    ["a boxed number", [new Number(1)], "/0 is not a plain object"],
    ["a typed array", new Uint8Array(1), "the top is not a plain object"],
    ["a sparse array", { list: sparse }, "/list/2 is a hole in an array"],
    ["an array with names", Object.assign([1], { a: 2 }), "the top is an array with named members"],
    ["a name with a slash", { "a/b": { "c~d": undefined } }, "/a~1b/c~0d is undefined"],
  ])("%s", (_, value, problem) => {
    const refusal = refusalOf(value);
    expect(refusal.code).toBe("TG_VALUE_INVALID");
    expect(refusal.message).toBe(`JSON cannot represent this value: ${problem}`);
  });

  test("nesting up to the limit is written and one level more is rejected", () => {
    const nested = (depth: number): unknown => {
      let value: unknown = 1;
      for (let level = 0; level < depth; level++) value = [value];
      return value;
    };
    expect(canonicalJson(nested(JSON_DEPTH_MAX))).toHaveLength(2 * JSON_DEPTH_MAX + 1);
    expect(refusalOf(nested(JSON_DEPTH_MAX + 1)).message).toContain("nested deeper than");
  });
});
