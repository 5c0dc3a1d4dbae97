import { expect, test } from "vitest";
import { parse } from "./source-file.ts";
import { checkUniqueExports } from "./unique-exports.ts";

function messages(files: Readonly<Record<string, string>>): string[] {
  const parsed = Object.entries(files).map(([path, text]) => parse(path, text));
  return checkUniqueExports(parsed).map(({ path, message }) => `${path} ${message}`);
}

test("two sources may not export a type, function or constant of the same name", () => {
  const one = "export interface Item {}\nexport function read() {}\nexport const MAX = 1;";
  const two = "export type Item = string;\nexport async function read() {}\nexport const MAX = 2;";
  expect(messages({ "src/a.ts": one, "src/b.ts": two })).toEqual([
    'src/b.ts "Item" is also exported by src/a.ts: give one of them its own name',
    'src/b.ts "read" is also exported by src/a.ts: give one of them its own name',
    'src/b.ts "MAX" is also exported by src/a.ts: give one of them its own name',
  ]);
});

test("re-exports, overloads and names that are not exported do not count", () => {
  const one = "export function read(a: string): void;\nexport function read(a: unknown) {}";
  const two = 'export { read } from "./a.ts";\nfunction helper() {}';
  expect(
    messages({ "src/a.ts": one, "src/b.ts": two, "src/c.ts": "function helper() {}" }),
  ).toEqual([]);
});

test("tests may not export a type or function of the same name, but may share those of sources", () => {
  const one = "export interface Item {}\nexport function read() {}\nexport const T0 = 1;";
  expect(messages({ "src/a.ts": one, "test/a.ts": one })).toEqual([]);
  expect(messages({ "test/model/reference.ts": one, "test/a.ts": one })).toEqual([]);
  expect(messages({ "test/a.ts": one, "test/support/b.ts": one })).toEqual([
    'test/support/b.ts "Item" is also exported by test/a.ts: give one of them its own name',
    'test/support/b.ts "read" is also exported by test/a.ts: give one of them its own name',
  ]);
});
