import { expect, test } from "vitest";
import { checkPlainCode, checkPlainText } from "./plain-words.ts";
import { parse } from "./source-file.ts";

function inCode(text: string): string[] {
  return checkPlainCode(parse("src/a.ts", text)).map(({ line, message }) => `${line} ${message}`);
}

test("banned words are found in comments, strings, templates and titles", () => {
  expect(inCode("// Nobody waits.\nconst a = 1;")).toHaveLength(1);
  expect(inCode("/** One.\n * Read anew. */\nconst a = 1;")).toEqual(['2 "anew": write again']);
  expect(inCode('throw new Error("the queue is told of it");')).toHaveLength(1);
  expect(inCode("const a = `given up on`;")).toHaveLength(1);
  expect(inCode('test("whoever asks is answered", () => {});')).toHaveLength(1);
});

test("data without a space, parts of words and plain sentences pass", () => {
  expect(inCode('const a = ["told", "nobody"];')).toEqual([]);
  expect(inCode("// The household retold it; recommended. The queue is no longer empty.")).toEqual(
    [],
  );
});

test('"is no X" is refused, "is no longer" is not', () => {
  expect(inCode("// A header is no secret.")).toEqual(['1 "is no secret": write is not a ...']);
  expect(inCode("// It is no longer than that, and no more than four.")).toEqual([]);
});

test('"leave" is refused for permission, not for departure', () => {
  expect(inCode("// A policy gives leave to deliver.")).toEqual([
    '1 "gives leave": write permission',
  ]);
  expect(inCode("// Topics deliver without leave.")).toHaveLength(1);
  expect(inCode("// Messages leave the queue; leave it to the caller.")).toEqual([]);
});

test("variables and parameters have nouns as names", () => {
  expect(inCode("const told = 1;")).toHaveLength(1);
  expect(inCode("function f(known: string) {}")).toHaveLength(1);
  expect(inCode("const { kept } = f();")).toHaveLength(1);
  expect(inCode("const { rows: kept } = f();")).toHaveLength(1);
  expect(inCode("const { rows: kept = [] } = f();")).toHaveLength(1);
  expect(inCode("const { page: { rows: kept } } = f();")).toHaveLength(1);
  expect(inCode("function f({ rows: kept }: Page) {}")).toHaveLength(1);
  expect(inCode("for (const { rows: kept } of pages) f();")).toHaveLength(1);
  expect(inCode("const { kept: rows } = f();")).toHaveLength(0);
  expect(inCode("const [seen] = f();")).toHaveLength(1);
  expect(inCode("f({ kept: 1 }); a.left = 2;")).toEqual([]);
});

test("left is a name where right is one, too", () => {
  expect(inCode("const compare = (left: number, right: number) => left - right;")).toEqual([]);
  expect(inCode("let left = 3;")).toHaveLength(1);
});

test("pages are read whole, scripts of other languages by their comments", () => {
  const page = { path: "docs/a.md", text: "One.\nMend it.\n" };
  expect(checkPlainText(page)).toEqual([
    { path: "docs/a.md", line: 2, message: '"Mend": write fix, repair' },
  ]);
  const script = { path: "test/a.py", text: "told = 1\n# told twice\n" };
  expect(checkPlainText(script)).toHaveLength(1);
  expect(checkPlainText({ path: "a.json", text: '{"a": "told"}' })).toEqual([]);
});
