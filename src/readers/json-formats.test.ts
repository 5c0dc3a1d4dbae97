import { describe, expect, test } from "vitest";
import { readAll, readValues, refusalOf } from "../../test/support/byte-sources.ts";

describe("JSON Lines", () => {
  const jsonl = { name: "a.jsonl", format: "jsonl" as const };

  test("empty lines are skipped but counted, CRLF ends a line, the last line needs no end", async () => {
    const text = '{"a":1}\r\n\n \t\r\n{"a":"ü€😀"}\n{"a":3}';
    const expected = [
      { line: 1, value: { a: 1 } },
      { line: 4, value: { a: "ü€😀" } },
      { line: 5, value: { a: 3 } },
    ];
    for (const lengths of [[1], [2, 3], [65_536]]) {
      expect(await readAll(text, { ...jsonl, lengths })).toEqual(expected);
    }
  });

  test("a byte order mark is dropped, an escaped NUL is kept", async () => {
    expect(await readValues('\ufeff{"a":"x\\u0000"}', jsonl)).toEqual([{ a: "x\0" }]);
  });

  test.each([
    ['{"a":1}\n{"a":\n', "line 2: is not JSON: text ends too early in /a, at character 6"],
    ['{"a":1}\n\n[1]\n', "line 3: a row must be a JSON object, not an array"],
    ["null\n", "line 1: a row must be a JSON object, not null"],
    ["{}\n{} {}\n", "line 2: is not JSON: text continues after its value, at character 4"],
    ['{"a":"\0"}', "line 1: byte 7 is NUL, which text must not contain"],
  ])("%j is rejected with its line", async (text, reason) => {
    expect(await refusalOf(text, jsonl)).toBe(`a.jsonl, ${reason}`);
    expect(await refusalOf(text, { ...jsonl, lengths: [1] })).toBe(`a.jsonl, ${reason}`);
  });

  test("values that JSON.parse would silently drop or round are rejected", async () => {
    expect(await refusalOf('{"a":1,"a":2}', jsonl)).toContain("name is used twice");
    expect(await refusalOf('{"id":9007199254740993}', jsonl)).toContain("in /id");
  });

  test("a line over the limit is rejected before it is buffered", async () => {
    const limits = { rowBytesMax: 100 };
    const text = `{}\n{"a":"${"x".repeat(100_000)}"}\n`;
    const reason = "a.jsonl, line 2: is longer than 100 bytes";
    expect(await refusalOf(text, { ...jsonl, limits })).toBe(reason);
    const endless = `{}\n${" ".repeat(101)}`;
    expect(await refusalOf(endless, { ...jsonl, limits, lengths: [10] })).toBe(reason);
    const fits = `{"a":"${"x".repeat(92)}"}`;
    expect(await readAll(`${fits}\n${fits}`, { ...jsonl, limits })).toHaveLength(2);
  });
});

describe("JSON", () => {
  const json = { name: "a.json", format: "json" as const };

  test("an array is its rows, numbered from one; an object is one row", async () => {
    expect(await readAll('[{"a":1},\n\n{"a":2}]', json)).toEqual([
      { line: 1, value: { a: 1 }, unit: "row" },
      { line: 2, value: { a: 2 }, unit: "row" },
    ]);
    expect(await readAll(' {"a":\n[1]} ', json)).toEqual([
      { line: 1, value: { a: [1] }, unit: "row" },
    ]);
    expect(await readAll("[]", json)).toEqual([]);
    expect(await readAll(" \n", json)).toEqual([]);
  });

  test.each([
    ['[{"a":1},\n{"a":}]', "line 2: is not JSON: unexpected character in /1/a"],
    ['[{"a":1},2]', "row 2: a row must be a JSON object, not a number"],
    ['"text"', "row 1: a row must be a JSON object, not a string"],
    [
      '{"a":1}\n{"a":2}\n',
      'line 2: is not JSON: text continues after its value; if it is JSON Lines, read it with the format "jsonl"',
    ],
  ])("%j is rejected with its position", async (text, reason) => {
    expect(await refusalOf(text, json)).toBe(`a.json, ${reason}`);
  });

  test("a document over the limit is rejected, and the message names the alternative", async () => {
    const limits = { jsonBytesMax: 1_024 };
    const text = `[{"a":"${"x".repeat(1_024)}"}]`;
    expect(await refusalOf(text, { ...json, limits, lengths: [100] })).toBe(
      "a.json: JSON is parsed as a whole and may have 1 KiB; JSON Lines may have more",
    );
  });
});

test.each([
  "[1,]",
  "[,{}]",
  "[{},,{}]",
  "[{}]\u00a0",
  "[{}] {}",
  "[{}",
  '[{"a":"]"]',
  `[${'{"a":"],["},'.repeat(1_000)}]`,
  `[${'{"a":1},'.repeat(1_000)}{"a":1}}`,
])("an array that is not valid is rejected, also behind its first piece: %#", async (text) => {
  expect(await refusalOf(text, { name: "a.json" })).toContain("is not JSON");
});

test("an array is read in pieces, with brackets, commas and quotes in its texts", async () => {
  const rows = Array.from({ length: 2_000 }, (_, index) => ({ a: `],"\\[{${index}`, b: [[], {}] }));
  expect(await readValues(JSON.stringify(rows), { name: "a.json" })).toEqual(rows);
  expect(await readValues(" [ ] ", { name: "a.json" })).toEqual([]);
});
