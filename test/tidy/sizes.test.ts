import { expect, test } from "vitest";
import { checkFileSize, checkFolderSizes, checkFunctionSizes, checkLineLengths } from "./sizes.ts";
import { parse } from "./source-file.ts";

const statements = (lines: number) => "step();\n".repeat(lines);

test("a source may have 400 lines and a test 600, and not one more", () => {
  expect(checkFileSize(parse("src/a.ts", statements(400)))).toEqual([]);
  expect(checkFileSize(parse("src/a.ts", statements(401)))).toHaveLength(1);
  expect(checkFileSize(parse("src/a.test.ts", statements(600)))).toEqual([]);
  expect(checkFileSize(parse("src/a.test.ts", statements(601)))).toHaveLength(1);
});

test.each([
  (body: string) => `function run() {\n${body}}`,
  (body: string) => `const run = () => {\n${body}};`,
  (body: string) => `class Job {\n  run() {\n${body}}}`,
])("a function may have 60 lines from its head to its brace, and not one more", (wrap) => {
  expect(checkFunctionSizes(parse("src/a.ts", wrap(statements(58))))).toEqual([]);
  expect(checkFunctionSizes(parse("src/a.ts", wrap(statements(59))))).toHaveLength(1);
});

test("a group of tests may be as long as its file, a test may not", () => {
  const tests = `test("one", () => {});\n`.repeat(80);
  const check = (path: string, text: string) => checkFunctionSizes(parse(path, text)).length;
  expect(check("src/a.test.ts", `describe("all", () => {\n${tests}});`)).toBe(0);
  expect(check("src/a.test.ts", `describe.each([1])("all", () => {\n${tests}});`)).toBe(0);
  expect(check("test/contracts/a.ts", `export function suite() {\n${tests}}`)).toBe(0);
  expect(check("src/a.ts", `export function suite() {\n${tests}}`)).toBe(1);
  expect(check("src/a.test.ts", `test("one", () => {\n${statements(80)}});`)).toBe(1);
});

const long = "x".repeat(100);

test.each([`const a = ${long};`, `// ${long}`, `call("a", ${long});`])(
  "a line of more than 100 columns is refused: %s",
  (text) => expect(checkLineLengths(parse("src/a.ts", text))).toHaveLength(1),
);

test.each([
  `const a = "${long}";`,
  `const a = \`${long}\`;`,
  `const a = /${long}/;`,
  `// See https://example.com/${long}`,
  `import { a } from "./${long}.ts";`,
])("a line is excused by what cannot be broken: %s", (text) => {
  expect(checkLineLengths(parse("src/a.ts", text))).toEqual([]);
});

test("a folder may have 25 sources, and not one more; tests and AWS actions do not count", () => {
  const filled = (folder: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ path: `${folder}/part-${index}.ts` }));
  expect(checkFolderSizes(filled("src/ports", 25))).toEqual([]);
  expect(checkFolderSizes(filled("src/ports", 26))).toMatchObject([{ path: "src/ports" }]);
  expect(checkFolderSizes([...filled("src/ports", 25), { path: "src/ports/a.test.ts" }])).toEqual(
    [],
  );
  expect(checkFolderSizes(filled("src/broker/wire/s3/actions", 33))).toEqual([]);
});
