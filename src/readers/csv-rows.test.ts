import fc from "fast-check";
import { expect, test } from "vitest";
import { readAll, readValues, refusalOf } from "../../test/support/byte-sources.ts";

const csv = (lengths?: readonly number[]) => ({
  name: "a.csv",
  format: "csv" as const,
  ...(lengths && { lengths }),
});

test("the header names the cells, and cells are strings as written", async () => {
  expect(await readValues('a,b\n 1 ,"2"\n,NULL\n', csv())).toEqual([
    { a: " 1 ", b: "2" },
    { a: "", b: "NULL" },
  ]);
});

test("a header of very many names is read as quickly as any other text, and a duplicate is found", async () => {
  const names = Array.from({ length: 200_000 }, (_, at) => `c${at}`).join(",");
  expect(await readValues(`${names}\n`, csv())).toEqual([]);
  expect(await refusalOf(`${names},c7\n`, csv())).toContain('the header has "c7" twice');
});

test("a row has the physical line on which it starts, whatever its cells contain", async () => {
  const text = 'a,b\r\n1,"x\r\ny\nz\rw"\r\n\r\n\n2,y\r3,z';
  const lines = (await readAll(text, csv())).map(({ line }) => line);
  expect(lines).toEqual([2, 8, 9]);
});

test("lines are counted correctly for any chunking, including quoted line ends", async () => {
  const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
  const cell = fc.array(fc.constantFrom("x", '""', ",", "\n", "\r\n", "é"), { maxLength: 6 });
  const blanks = fc.array(lineEnd, { maxLength: 2 }).map((ends) => ends.join(""));
  const record = fc.tuple(blanks, cell, lineEnd);
  const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 4 });
  const property = fc.asyncProperty(fc.array(record), cuts, async (records, lengths) => {
    let text = "h\n";
    const expected: number[] = [];
    for (const [before, parts, after] of records) {
      text += before;
      expected.push(text.split(/\r\n|\n|\r/).length);
      text += `"${parts.join("")}"${after}`;
    }
    // A CR followed by an LF is one line end, also in the sum above.
    const rows = await readAll(text, csv(lengths));
    expect(rows.map(({ line }) => line)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 300 });
});

test("a header alone has no rows, with or without a line end", async () => {
  expect(await readAll("a,b", csv())).toEqual([]);
  expect(await readAll("a,b\r\n\r\n", csv())).toEqual([]);
});

test("a byte order mark is not part of the first name, even before a quote", async () => {
  expect(await readValues('\ufeff"a",b\n1,2\n', csv([1]))).toEqual([{ a: "1", b: "2" }]);
});

test("a column may have any name, including __proto__ and an empty one", async () => {
  const [row] = await readValues("__proto__,,constructor\n1,2,3\n", csv());
  expect(Object.entries(row ?? {})).toEqual([
    ["__proto__", "1"],
    ["", "2"],
    ["constructor", "3"],
  ]);
});

test("a quoted empty cell is a row, an empty line is none", async () => {
  expect(await readValues('a\n""\n\nx\n', csv())).toEqual([{ a: "" }, { a: "x" }]);
});

test.each([
  ["a,b\n1,2\n\n3\n", "line 4: the row has 1 cell where the header has 2"],
  ["a,b\n1,2,3\n", "line 2: the row has 3 cells where the header has 2"],
  ['a,b\n1,"x\ny"\n3\n', "line 4: the row has 1 cell where the header has 2"],
  ["a,b,a\n1,2,3\n", 'line 1: the header has "a" twice'],
  ['a\n1\n"x\n2\n', "line 3: a quote is not closed before the object ends"],
  ['a,b\n1,2\n3,"x"y\n4,5\n', "line 3: a quoted cell continues after its closing quote"],
  ['a,b\n1,2\n3,x"y\n', "line 3: a quote is in the middle of an unquoted cell"],
  ["a\n1\n\0\n", "line 3: byte 5 is NUL, which text must not contain"],
  ['a\n"x"\0y\n', "line 2: byte 6 is NUL, which text must not contain"],
])("%j is rejected with its line, in one chunk or in many", async (text, reason) => {
  expect(await refusalOf(text, csv())).toBe(`a.csv, ${reason}`);
  expect(await refusalOf(text, csv([1]))).toBe(`a.csv, ${reason}`);
});

test("a file with another delimiter is rejected with the setting that reads it", async () => {
  const hint = '; if cells are separated by ";", set csv.delimiter in the pipeline';
  expect(await refusalOf("a;b\n1;2,5\n", csv())).toBe(
    `a.csv, line 2: the row has 2 cells where the header has 1${hint}`,
  );
});

test("a row over the limit is rejected while it grows, before the object ends", async () => {
  const limits = { rowBytesMax: 1_000 };
  const open = `a\nfine\n"${"x\n".repeat(200_000)}`;
  const reason = "a.csv, line 3: the row is longer than 1000 bytes; is a quote not closed?";
  expect(await refusalOf(open, { ...csv([500]), limits })).toBe(reason);
  expect(await refusalOf(open, { ...csv(), limits })).toBe(reason);
  const closed = `a\n${"x".repeat(1_001)}\ny\n`;
  expect(await refusalOf(closed, { ...csv(), limits })).toContain("line 2: the row is longer");
  expect(await readAll(`a\n${"x".repeat(999)}\n`, { ...csv(), limits })).toHaveLength(1);
});
