import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDetail, parseDetail } from "./message-detail.ts";

const anyText = fc.string({ unit: "binary" });
const anyDetail = fc.record({
  attributes: fc.option(
    fc.dictionary(anyText, fc.record({ type: anyText, value: anyText }), {
      noNullPrototype: true,
    }),
  ),
  traceHeader: fc.option(anyText),
  dedupId: fc.option(anyText),
  sourceArn: fc.option(anyText),
});

test("all details of a message survive encoding and decoding unchanged", () => {
  fc.assert(
    fc.property(anyDetail, (detail) => {
      expect(parseDetail(formatDetail(detail))).toEqual(detail);
    }),
  );
});

test("a message that carries nothing costs nothing", () => {
  const nothing = { attributes: null, traceHeader: null, dedupId: null, sourceArn: null };
  expect(formatDetail(nothing)).toBe(null);
  expect(parseDetail(null)).toEqual(nothing);
});

test("an attribute may be called __proto__", () => {
  const attributes = JSON.parse('{"__proto__":{"type":"String","value":"x"}}');
  const text = formatDetail({ attributes, traceHeader: null, dedupId: null, sourceArn: null });
  expect(Object.entries(parseDetail(text).attributes ?? {})).toEqual([
    ["__proto__", { type: "String", value: "x" }],
  ]);
});
