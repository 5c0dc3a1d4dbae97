import { expect, test } from "vitest";
import { checkPublicDocs, publicEntries } from "./public-docs.ts";
import { parse } from "./source-file.ts";

function reports(sources: Readonly<Record<string, string>>): string[] {
  const files = Object.entries(sources).map(([path, text]) => parse(path, text));
  return checkPublicDocs(files, ["src/index.ts"]).map(
    ({ path, line, message }) => `${path}:${line} ${/"(\w+)"/.exec(message)?.[1]}`,
  );
}

test("a public declaration without a JSDoc comment is reported where it is declared", () => {
  const sources = {
    "src/index.ts": `export { read as open, type Item } from "./part/a.ts";\nexport class B {}`,
    "src/part/a.ts": "// A comment.\nexport function read() {}\nexport interface Item {}",
  };
  expect(reports(sources)).toEqual([
    "src/part/a.ts:2 read",
    "src/part/a.ts:3 Item",
    "src/index.ts:2 B",
  ]);
});

test("a name that is imported and then exported is followed, too", () => {
  const sources = {
    "src/index.ts": `import { type Inner as Item } from "./a.ts";\nexport type { Item };`,
    "src/a.ts": "export interface Inner {}",
  };
  expect(reports(sources)).toEqual(["src/a.ts:1 Inner"]);
});

test("re-exports are followed through any number of files", () => {
  const sources = {
    "src/index.ts": `export * from "./a.ts";`,
    "src/a.ts": `export { inner as outer } from "./b.ts";`,
    "src/b.ts": "/* Not JSDoc. */\nexport const inner = 1;\nexport const other = 2;",
  };
  expect(reports(sources)).toEqual(["src/b.ts:2 inner"]);
});

test("a comment directly above counts, also on one of several overloads", () => {
  const text = [
    "/**",
    " * Reads.",
    " */",
    "export function read(a: string): void;",
    "export function read(a: unknown) {}",
    "/** A comment of something else. */",
    "",
    "export type Late = string;",
  ];
  expect(reports({ "src/index.ts": text.join("\n") })).toEqual(["src/index.ts:8 Late"]);
});

test("the entry points are the sources of the subpaths", () => {
  const manifest = {
    exports: { ".": { "tidegate-source": "./src/index.ts" }, "./package.json": "./package.json" },
  };
  expect(publicEntries(manifest)).toEqual(["src/index.ts"]);
});
