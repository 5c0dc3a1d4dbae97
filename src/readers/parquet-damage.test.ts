// Damage: however the bytes are damaged, reading ends with rows or with an error. A test that
// hangs here means a decoder that would hang a consumer.

import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { readAll, readValues } from "../../test/support/byte-sources.ts";
import { nextPage } from "./parquet-pages.ts";
import { PARQUET_PAGE_VALUES_MAX } from "./row-limits.ts";

const LISTS: SchemaElement[] = [
  { name: "root", num_children: 4 },
  { name: "tags", repetition_type: "OPTIONAL", converted_type: "LIST", num_children: 1 },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
  { name: "size", repetition_type: "OPTIONAL", converted_type: "MAP", num_children: 1 },
  { name: "key_value", repetition_type: "REPEATED", num_children: 2 },
  { name: "key", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
  { name: "value", type: "INT64", repetition_type: "OPTIONAL" },
  { name: "place", repetition_type: "OPTIONAL", num_children: 2 },
  { name: "x", type: "INT64", repetition_type: "REQUIRED" },
  { name: "on", type: "INT32", converted_type: "DATE", repetition_type: "OPTIONAL" },
  { name: "id", type: "INT32", repetition_type: "REQUIRED" },
];

const nested = new Uint8Array(
  parquetWriteBuffer({
    schema: LISTS,
    columnData: [
      { name: "tags", data: [["a", null], [], null] },
      { name: "size", data: [{ big: 2n ** 60n, none: null }, {}, null] },
      { name: "place", data: [{ x: 1n, on: new Date(0) }, { x: 2n, on: null }, null] },
      { name: "id", data: [1, 2, 3] },
    ],
  }),
);

test("lists, maps and structs are arrays and objects, down to their values", async () => {
  expect(await readValues(nested)).toEqual([
    {
      tags: ["a", null],
      size: { big: String(2n ** 60n), none: null },
      place: { x: 1, on: "1970-01-01" },
      id: 1,
    },
    { tags: [], size: {}, place: { x: 2, on: null }, id: 2 },
    { tags: null, size: null, place: null, id: 3 },
  ]);
});

const repeated = <T>(values: readonly T[]) => Array.from({ length: 60 }, (_, i) => values[i % 3]);
const flat = (codec: "UNCOMPRESSED" | "SNAPPY") =>
  new Uint8Array(
    parquetWriteBuffer({
      codec,
      columnData: [
        { name: "text", data: repeated(["north", null, "south"]), type: "STRING" },
        { name: "flag", data: repeated([true, false, null]), type: "BOOLEAN", encoding: "RLE" },
        { name: "n", data: repeated([1n, 5n, 9n]), type: "INT64", encoding: "DELTA_BINARY_PACKED" },
        { name: "real", data: repeated([1.5, 2.5, 3.5]), type: "DOUBLE" },
      ],
    }),
  );

test.each([
  ["flat", flat("UNCOMPRESSED")],
  ["compressed", flat("SNAPPY")],
  ["nested", nested],
])("a flipped bit anywhere in a %s file ends in rows or in an error", async (_, file) => {
  for (let at = 4; at < file.length; at++) {
    const damaged = file.slice();
    damaged[at] = (damaged[at] ?? 0) ^ (1 << ((at * 5) % 8));
    const outcome = await readAll(damaged, { format: "parquet" }).then(
      () => "rows",
      (error: { code?: string }) => error.code,
    );
    expect(outcome).toMatch(/^(rows|TG_OBJECT_UNREADABLE)$/);
    await new Promise(setImmediate); // Unhandled rejections surface between turns.
  }
});

test("a missing cell is rejected, never read as null", async () => {
  const data = Array.from({ length: 40 }, (_, index) => ["north", "south", "west"][index % 3]);
  const columnData = [{ name: "x", data, type: "STRING" as const, nullable: false }];
  const file = new Uint8Array(parquetWriteBuffer({ columnData, codec: "UNCOMPRESSED" }));
  const footerStart = file.length - 8 - new DataView(file.buffer).getUint32(file.length - 8, true);
  let refused = 0;
  for (let at = 4; at < footerStart; at++) {
    const damaged = file.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 0xff;
    const rows = await readValues(damaged).catch((error: Error) => {
      if (error.message.includes('column "x" has no value')) refused++;
      return [];
    });
    expect(rows.filter(({ x }) => typeof x !== "string")).toEqual([]);
  }
  expect(refused).toBeGreaterThan(0);
});

describe("pages of version 1", () => {
  /** A page of optional dictionary indexes: header, levels with their length, width, runs. */
  function pageOf(valueRun: readonly number[], values = 8): Uint8Array {
    const page = [2, 0, 0, 0, values << 1, 1, 1, ...valueRun];
    const size = page.length << 1; // Sizes are zigzag: twice the number.
    const header = [0x15, 0, 0x15, size, 0x15, size, 0x2c];
    return Uint8Array.from([
      ...header,
      0x15,
      values << 1,
      0x15,
      16,
      0x15,
      6,
      0x15,
      6,
      0,
      0,
      ...page,
    ]);
  }

  async function check(bytes: Uint8Array): Promise<void> {
    const element = { name: "x", type: "BYTE_ARRAY", repetition_type: "OPTIONAL" } as const;
    const leaf = { children: [], count: 1, element, path: ["x"] };
    const root = { children: [leaf], count: 2, element: { name: "root" }, path: [] };
    const metadata = {
      type: "BYTE_ARRAY",
      codec: "UNCOMPRESSED",
      encodings: [],
      path_in_schema: ["x"],
      num_values: 8n,
      total_uncompressed_size: 0n,
      total_compressed_size: 0n,
      data_page_offset: 0n,
    } as const;
    const reader = { view: new DataView(bytes.slice().buffer), offset: 0 };
    await nextPage(reader, {
      chunk: {
        metadata: { ...metadata, encodings: [], path_in_schema: ["x"] },
        path: [root, leaf],
      },
      expandPage: async (_codec, input) => input,
      countValues: () => {},
    });
  }

  test("a run of as many values as there are passes, repeated or packed", async () => {
    await check(pageOf([8 << 1, 1]));
    await check(pageOf([(1 << 1) | 1, 0b10101010]));
  });

  test.each([
    ["repeats without bound", [0xff, 0xff, 0xff, 0xff, 0x06, 1]],
    ["is packed without bound", [0xff, 0xff, 0xff, 0xff, 0x07, 1]],
    ["has a negative length", [0xff, 0xff, 0xff, 0xff, 0x0f, 1]],
  ])("a run that %s is rejected", async (_, run) => {
    await expect(check(pageOf(run))).rejects.toThrow(`up to ${PARQUET_PAGE_VALUES_MAX} are read`);
  });

  test("a page that is longer than its column is rejected", async () => {
    await expect(check(pageOf([8 << 1, 1]).subarray(0, -1))).rejects.toThrow(
      "longer than its column",
    );
  });
});
