import type { PageHeader } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { expect, test } from "vitest";
import { readValues } from "../../test/support/byte-sources.ts";
import { openRuns } from "./parquet-runs.ts";

const COUNT = 5_000;

test.each([1, 2, 3, 200, 257, 2_400])(
  "pages of %i distinct values and nulls are read across batches and pages",
  async (distinct) => {
    const pick = (index: number) => (index * 7_919) % distinct;
    const texts = Array.from({ length: COUNT }, (_, index) => {
      return index % 5 === 3 ? null : `value ${pick(index)}`;
    });
    const numbers = Array.from({ length: COUNT }, (_, index) => pick(index >> 4));
    const flags = texts.map((text, index) => (text === null ? null : index % 3 === 0));
    for (const pageSize of [500, 100_000]) {
      const columnData = [
        { name: "text", data: texts, type: "STRING" as const },
        { name: "n", data: numbers, type: "INT32" as const, nullable: false },
        { name: "flag", data: flags, type: "BOOLEAN" as const, encoding: "RLE" as const },
      ];
      const file = parquetWriteBuffer({ columnData, pageSize, rowGroupSize: 3_000 });
      const rows = await readValues(new Uint8Array(file));
      expect(rows).toEqual(
        texts.map((text, index) => ({ text, n: numbers[index], flag: flags[index] })),
      );
    }
  },
);

/** A page of version 1 with the given values behind its levels. */
function pageOf(bytes: readonly number[], encoding: "RLE" | "RLE_DICTIONARY", count: number) {
  const header = {
    type: "DATA_PAGE",
    uncompressed_page_size: bytes.length,
    compressed_page_size: bytes.length,
    data_page_header: {
      num_values: count,
      encoding,
      definition_level_encoding: "RLE",
      repetition_level_encoding: "RLE",
    },
  } satisfies Partial<PageHeader>;
  return { header: header as PageHeader, bytes: Uint8Array.from(bytes) };
}

function take(values: ReturnType<typeof openRuns>, counts: readonly number[]): unknown[] {
  const output: unknown[] = [];
  for (const count of counts) values?.take(count, output);
  return output;
}

const LEVELS = [2, 0, 0, 0, 3, 0b10111011]; // Eight packed levels: null at 2 and 6.
const nullable = { boolean: false, nullable: true, dictionary: ["a", "b"] };

test("a page of version 1 has its levels in front, with their length", () => {
  const page = pageOf([...LEVELS, 1, 4 << 1, 1, 2 << 1, 0], "RLE_DICTIONARY", 8);
  const expected = ["b", "b", null, "b", "b", "a", null, "a"];
  for (const counts of [[8], [3, 5], [1, 1, 1, 1, 1, 1, 1, 1]]) {
    expect(take(openRuns(page, nullable), counts)).toEqual(expected);
  }
});

test("indexes of zero bits are all zero", () => {
  const page = pageOf([...LEVELS, 0], "RLE_DICTIONARY", 8);
  expect(take(openRuns(page, nullable), [8])).toEqual(["a", "a", null, "a", "a", "a", null, "a"]);
});

test("booleans have a length in front of their runs", () => {
  const page = pageOf([2, 0, 0, 0, 3, 0b00000101], "RLE", 4);
  const column = { boolean: true, nullable: false, dictionary: undefined };
  expect(take(openRuns(page, column), [4])).toEqual([true, false, true, false]);
});

test("missing values, and indexes outside the dictionary, are undefined", () => {
  const required = { ...nullable, nullable: false };
  const short = pageOf([1, 2 << 1, 1], "RLE_DICTIONARY", 4);
  expect(take(openRuns(short, required), [4])).toEqual(["b", "b", undefined, undefined]);
  const outside = pageOf([8, 2 << 1, 9], "RLE_DICTIONARY", 2);
  expect(take(openRuns(outside, required), [2])).toEqual([undefined, undefined]);
  const cut = pageOf([4, 3, 0x10], "RLE_DICTIONARY", 8);
  expect(take(openRuns(cut, required), [8]).slice(0, 3)).toEqual(["a", "b", undefined]);
});

test("other encodings, and indexes without a dictionary, are left to hyparquet", () => {
  const page = pageOf([1, 2, 0], "RLE_DICTIONARY", 1);
  expect(openRuns(page, { ...nullable, dictionary: undefined })).toBeNull();
  const plain = { ...page, header: { ...page.header, data_page_header: undefined } };
  expect(openRuns(plain as unknown as typeof page, nullable)).toBeNull();
});
