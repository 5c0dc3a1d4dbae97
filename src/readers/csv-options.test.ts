import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readAll, readValues, refusalOf } from "../../test/support/byte-sources.ts";
import type { CsvEncoding, CsvOptions } from "../core/csv-format.ts";

const as = (csv: CsvOptions, lengths?: readonly number[]) => ({
  name: "a.csv",
  format: "csv" as const,
  csv,
  ...(lengths && { lengths }),
});

/** The bytes of a text in an encoding; UTF-16 with its byte order mark. */
function encoded(text: string, encoding: CsvEncoding): Uint8Array {
  const little = Buffer.from(`\ufeff${text}`, "utf16le");
  switch (encoding) {
    case "utf-16":
    case "utf-16le":
      return little;
    case "utf-16be":
      return little.swap16();
    case "latin1":
    case "windows-1252":
      return Buffer.from(text, "latin1");
    default:
      return Buffer.from(text);
  }
}

test("a delimiter and a quote of one character each split cells", async () => {
  const text = "a;b\n'x;''y';2\n";
  expect(await readValues(text, as({ delimiter: ";", quote: "'" }))).toEqual([
    { a: "x;'y", b: "2" },
  ]);
  expect(await readValues('a|b\n"x|2\n', as({ delimiter: "|", quote: null }))).toEqual([
    { a: '"x', b: "2" },
  ]);
});

test.each(["auto", "utf-8", "utf-16", "utf-16le", "utf-16be", "latin1"] as const)(
  "%s text is read as written, in any chunks, with the lines of the file",
  async (encoding) => {
    const wide = encoding === "latin1" ? "é" : "é€😀";
    const text = `näme;x\r\n"${wide}\r\n${wide}";1\r\n${wide};2\r\n`;
    const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(cuts, async (lengths) => {
      const options = as({ delimiter: ";", encoding }, lengths);
      expect(await readAll(encoded(text, encoding), options)).toEqual([
        { line: 2, value: { näme: `${wide}\r\n${wide}`, x: "1" } },
        { line: 4, value: { näme: wide, x: "2" } },
      ]);
    });
    await fc.assert(property, { numRuns: 30 });
  },
);

test("by default, a byte order mark decides between UTF-8 and UTF-16", async () => {
  for (const encoding of ["utf-8", "utf-16le", "utf-16be"] as const) {
    expect(await readValues(encoded("a\n€\n", encoding), as({}))).toEqual([{ a: "€" }]);
  }
});

test("Latin-1 and Windows-1252 differ from 0x80 to 0x9F only", async () => {
  const bytes = Buffer.from([0x61, 0x0a, 0x80, 0xe4, 0x0a]);
  expect(await readValues(bytes, as({ encoding: "windows-1252" }))).toEqual([{ a: "€ä" }]);
  expect(await readValues(bytes, as({ encoding: "latin1" }))).toEqual([{ a: "\u0080ä" }]);
  expect(await refusalOf(bytes, as({ encoding: "utf-8" }))).toContain(
    "line 2: byte 3 is not UTF-8",
  );
});

test("broken UTF-16 is rejected with its line", async () => {
  const lone = Buffer.from("\ufeffa\nb\n\ud800x\n", "utf16le");
  expect(await refusalOf(lone, as({}))).toContain("line 3: contains half of a UTF-16 character");
  const odd = Buffer.from("\ufeffa\nb", "utf16le").subarray(0, -1);
  expect(await refusalOf(odd, as({}))).toContain("line 2: ends inside a UTF-16 character");
});

test("names may be given, numbered, or come after lines that are skipped", async () => {
  const text = "1,2\n3,4\n";
  expect(await readAll(text, as({ header: ["x", "y"] }))).toEqual([
    { line: 1, value: { x: "1", y: "2" } },
    { line: 2, value: { x: "3", y: "4" } },
  ]);
  const [first] = await readValues(text, as({ header: false }));
  expect(first).toEqual({ column_1: "1", column_2: "2" });
  const report = `Report "of\r\nFebruary\r\r\na,b\r\n${text}`;
  for (const lengths of [[1], [2, 3], [64]]) {
    expect(await readAll(report, as({ skipLines: 3 }, lengths))).toEqual([
      { line: 5, value: { a: "1", b: "2" } },
      { line: 6, value: { a: "3", b: "4" } },
    ]);
  }
  expect(await readValues("a\n", as({ skipLines: 9 }))).toEqual([]);
  expect(await refusalOf("1,2\n3\n", as({ header: false }))).toContain(
    "line 2: the row has 1 cell",
  );
});

test("lines are those of the file, also in a gzip file with skipped lines and quoted line ends", async () => {
  const text = 'about\na,b\n"x\ny",1\n2\n';
  const options = as({ skipLines: 1 });
  expect(await refusalOf(gzipSync(text), options)).toContain("a.csv, line 5: the row has 1 cell");
});

test("numbers with a decimal comma become numbers with a point, in the named columns only", async () => {
  const csv = { delimiter: ";", decimalComma: ["amount"] };
  const cells = ["1,5", "1.234,56", "-1 234 567,8", "1'000", "+7", "", " 2,50 ", "1.234"];
  const text = `id;amount\n${cells.map((cell) => `1,5;${cell}\n`).join("")}`;
  const rows = await readValues(text, as(csv));
  expect(rows.map(({ amount }) => amount)).toEqual([
    "1.5",
    "1234.56",
    "-1234567.8",
    "1000",
    "7",
    "",
    "2.50",
    "1234",
  ]);
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(["1,5"]));
  for (const cell of ["1.5", "1,2,3", "12.34,5", "x", "1e3"]) {
    expect(
      await refusalOf(`amount\n"1,5"\n"${cell}"\n`, as({ decimalComma: ["amount"] })),
    ).toContain(`line 3: the cell in "amount" is not a number with a decimal comma`);
  }
  expect(await refusalOf("a\n1\n", as({ decimalComma: ["b"] }))).toContain(
    'line 1: the header has no "b", which csv.decimalComma names',
  );
});

test("an empty file has no rows, whatever the options", async () => {
  for (const header of [true, false, ["x"]]) {
    for (const bytes of ["", "\ufeff", "\n\n"]) {
      expect(await readAll(bytes, as({ header, decimalComma: ["x"] }))).toEqual([]);
    }
  }
});
