import { expect, test } from "vitest";
import { parse } from "./source-file.ts";
import { checkSpreadLiterals } from "./spread-literals.ts";

function linesOf(path: string, text: string): number[] {
  return checkSpreadLiterals(parse(path, text)).map(({ line }) => line);
}

test("an object literal that is spread into another is reported with its line", () => {
  const text = "const x = {\n  ...{ a: 1, b: 2 },\n  c: { ...{ d: 3 } },\n};";
  expect(linesOf("src/a.ts", text)).toEqual([2, 3]);
});

test("spreads of values and conditional spreads are allowed", () => {
  const text = "const x = { ...y, ...(y && { a: 1 }), ...(z ? { a: 1 } : {}) };";
  expect(linesOf("src/a.ts", text)).toEqual([]);
});

test.each(["test/a.ts", "bench/a.ts"])("%s is checked like a source", (path) => {
  expect(linesOf(path, "const x = { ...{ a: 1 } };")).toEqual([1]);
});
