import { randomBytes } from "node:crypto";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { SchemaElement } from "hyparquet";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { collect, readValues, refusalOf, sourceOf } from "../../test/support/byte-sources.ts";
import { systemPorts } from "../platform/index.ts";
import type { ByteSource } from "../ports/rows.ts";
import { PARQUET_CODECS } from "./parquet-codecs.ts";
import { PARQUET_BATCH_ROWS_MAX, PARQUET_RANGES_MAX } from "./row-limits.ts";
import { createRowReader } from "./row-reader.ts";

const signal = new AbortController().signal;
const FOOTER_FETCH_BYTES = 524_288;

function write(columnData: ColumnSource[], options = {}): Uint8Array {
  return new Uint8Array(parquetWriteBuffer({ columnData, ...options }));
}

/** One row whose columns have the given annotations. */
function writeRow(columns: readonly (SchemaElement & { value: unknown })[]): Uint8Array {
  const elements = columns.map(({ value: _, ...element }) => element);
  const schema = [{ name: "root", num_children: columns.length }, ...elements];
  const columnData = columns.map(({ name, value }) => ({ name, data: [value] }));
  return new Uint8Array(parquetWriteBuffer({ columnData, schema }));
}

const read = (source: ByteSource) =>
  createRowReader(systemPorts).read(source, { format: "auto", name: "a.parquet", signal });

describe("values", () => {
  test("an int64 beyond the safe range is a decimal string, digit for digit", async () => {
    const data = [0n, 9_007_199_254_740_991n, 9_007_199_254_740_993n, -(2n ** 63n)];
    const file = write([{ name: "id", data, type: "INT64" }]);
    expect(await readValues(file)).toEqual([
      { id: 0 },
      { id: 9_007_199_254_740_991 },
      { id: "9007199254740993" },
      { id: "-9223372036854775808" },
    ]);
  });

  test("each type has one form in JSON, and null is null in all of them", async () => {
    const columnData: ColumnSource[] = [
      { name: "flag", data: [true, null], type: "BOOLEAN" },
      { name: "small", data: [-7, null], type: "INT32" },
      { name: "real", data: [1.5, null], type: "DOUBLE" },
      { name: "text", data: ["ü€😀", null], type: "STRING" },
      { name: "bytes", data: [Uint8Array.of(0xff, 0x41), null], type: "BYTE_ARRAY" },
      { name: "json", data: [{ a: [1, null] }, null], type: "JSON" },
      { name: "at", data: [new Date("2026-11-15T08:00:00.123Z"), null], type: "TIMESTAMP" },
      { name: "id", data: ["01234567-89ab-cdef-0123-456789abcdef", null], type: "UUID" },
    ];
    expect(await readValues(write(columnData))).toEqual([
      {
        flag: true,
        small: -7,
        real: 1.5,
        text: "ü€😀",
        bytes: "/0E=",
        json: { a: [1, null] },
        at: "2026-11-15T08:00:00.123Z",
        id: "01234567-89ab-cdef-0123-456789abcdef",
      },
      {
        flag: null,
        small: null,
        real: null,
        text: null,
        bytes: null,
        json: null,
        at: null,
        id: null,
      },
    ]);
  });

  test("decimals are exact, and a time without UTC gets no Z", async () => {
    const decimal = { converted_type: "DECIMAL", repetition_type: "REQUIRED" } as const;
    const local = { type: "TIMESTAMP", isAdjustedToUTC: false, unit: "MICROS" } as const;
    const nanos = { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "NANOS" } as const;
    const required = { repetition_type: "REQUIRED" } as const;
    const file = writeRow([
      { name: "a", type: "INT32", precision: 9, scale: 2, ...decimal, value: 115n },
      { name: "b", type: "INT64", precision: 18, scale: 3, ...decimal, value: -5n },
      {
        name: "c",
        type: "FIXED_LEN_BYTE_ARRAY",
        type_length: 16,
        precision: 38,
        scale: 0,
        ...decimal,
        value: -(10n ** 30n),
      },
      { name: "d", type: "INT64", logical_type: local, ...required, value: -1n },
      { name: "e", type: "INT64", logical_type: nanos, ...required, value: 1_000_000_007n },
      { name: "f", type: "INT32", converted_type: "DATE", ...required, value: -1 },
      {
        name: "g",
        type: "INT64",
        converted_type: "TIME_MICROS",
        ...required,
        value: 3_600_000_001n,
      },
    ]);
    expect(await readValues(file)).toEqual([
      {
        a: "1.15",
        b: "-0.005",
        c: "-1000000000000000000000000000000",
        d: "1969-12-31T23:59:59.999999",
        e: "1970-01-01T00:00:01.000000007Z",
        f: "1969-12-31",
        g: "01:00:00.000001",
      },
    ]);
  });

  test("numbers that JSON does not have are null", async () => {
    const file = write([{ name: "x", data: [Number.NaN, Infinity, -Infinity, 0], type: "DOUBLE" }]);
    expect(await readValues(file)).toEqual([{ x: null }, { x: null }, { x: null }, { x: 0 }]);
  });

  test("a column may be called __proto__", async () => {
    const [row] = await readValues(write([{ name: "__proto__", data: [1], type: "INT32" }]));
    expect(Object.entries(row ?? {})).toEqual([["__proto__", 1]]);
  });

  test("a VARIANT column is rejected by name", async () => {
    const file = write([{ name: "event", data: [{ a: 1 }], type: "VARIANT" }]);
    expect(await refusalOf(file)).toContain("column event is a VARIANT, which is not supported");
  });
});

describe("how it is read", () => {
  test.each(PARQUET_CODECS.map((codec) => [codec]))("pages in %s are read", async (codec) => {
    const data = Array.from({ length: 1_000 }, (_, index) => `text ${index % 50} ${index}`);
    const compressors = {
      GZIP: (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes)),
      ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdCompressSync(bytes)),
      BROTLI: (bytes: Uint8Array) => new Uint8Array(brotliCompressSync(bytes)),
    };
    const file = write([{ name: "x", data, type: "STRING" }], { codec, compressors });
    expect(await readValues(file)).toEqual(data.map((x) => ({ x })));
  });

  test("an unsupported codec is named", async () => {
    const compressors = { LZ4_RAW: (bytes: Uint8Array) => bytes };
    const file = write([{ name: "x", data: [1], type: "INT32" }], {
      codec: "LZ4_RAW",
      compressors,
    });
    expect(await refusalOf(file, { name: "a" })).toBe(
      "a: its pages are compressed with LZ4_RAW; supported are SNAPPY, GZIP, ZSTD, BROTLI",
    );
  });

  test("rows of a group with several batches are in order, and each byte is fetched once", async () => {
    const count = 100 * PARQUET_BATCH_ROWS_MAX + 10;
    const data = Int32Array.from({ length: count }, (_, index) => (index * 7_919) % 1_000_003);
    const bytes = write([{ name: "x", data, type: "INT32" }], { rowGroupSize: count });
    const source = sourceOf(bytes);
    const rows = await collect(read(source));
    expect(rows.map(({ value }) => value.x)).toEqual([...data]);
    expect(rows.map(({ line }) => line)).toEqual(rows.map((_, index) => index + 1));
    expect(source.rangeBytes()).toBeLessThanOrEqual(bytes.length + FOOTER_FETCH_BYTES);
  });

  test("a reader that stops after the first row has fetched the footer and one group", async () => {
    const data = Array.from({ length: 200 }, () => randomBytes(20_000));
    const bytes = write([{ name: "x", data, type: "BYTE_ARRAY" }], { rowGroupSize: 10 });
    const source = sourceOf(bytes);
    for await (const _ of read(source)) break;
    expect(source.rangeBytes()).toBeLessThan(FOOTER_FETCH_BYTES + 11 * 20_100);
    expect(bytes.length).toBeGreaterThan(4_000_000);
    expect(source.opened()).toBe(0); // The suffix decided, so no stream was opened.
  });

  test("many columns are fetched a few at a time", async () => {
    const columns = Array.from({ length: 12 }, (_, index) => {
      return { name: `c${index}`, data: [randomBytes(2_200_000)], type: "BYTE_ARRAY" as const };
    });
    const source = sourceOf(write(columns, { codec: "UNCOMPRESSED" }));
    expect(await collect(read(source))).toHaveLength(1);
    expect(source.rangesAtOnce()).toBe(PARQUET_RANGES_MAX);
  });
});

describe("a file that cannot be read", () => {
  const file = write([{ name: "x", data: [1, 2, 3], type: "INT32" }], { codec: "UNCOMPRESSED" });

  test("every file that was cut short is unreadable", async () => {
    for (let end = 4; end < file.length; end++) {
      expect(await refusalOf(file.subarray(0, end), { name: "a" })).toMatch(/^a: /);
    }
  });

  test("a footer that does not parse, or that is longer than the file, is unreadable", async () => {
    const scrambled = file.slice();
    scrambled.fill(0xff, file.length - 40, file.length - 8);
    expect(await refusalOf(scrambled, { name: "a" })).toMatch(/^a: cannot be read as Parquet/);
    const long = file.slice();
    new DataView(long.buffer).setUint32(file.length - 8, 0x7fffffff, true);
    expect(await refusalOf(long, { name: "a" })).toContain("metadata length");
  });

  test("columns outside the object are not fetched", async () => {
    const bytes = write([{ name: "x", data: [randomBytes(2_000)], type: "BYTE_ARRAY" }]);
    const footerLength = new DataView(bytes.buffer).getUint32(bytes.length - 8, true);
    const footer = bytes.subarray(bytes.length - 8 - footerLength);
    const cut = Buffer.concat([Buffer.from("PAR1"), footer]);
    expect(await refusalOf(cut, { name: "a" })).toBe("a: its footer points outside the object");
  });

  test("a row group over the limit is rejected before it is fetched", async () => {
    const bytes = write([{ name: "x", data: [randomBytes(9_000)], type: "BYTE_ARRAY" }]);
    const limits = { parquetGroupBytesMax: 8_192 };
    expect(await refusalOf(bytes, { name: "a", limits: { expandedBytesMax: 8_192 } })).toBe(
      "a: has more than 8 KiB when expanded",
    );
    expect(await refusalOf(bytes, { name: "a", limits })).toContain("longer than 8 KiB");
  });

  test("invalid UTF-8 is unreadable, not repaired", async () => {
    const bytes = Buffer.from(
      write([{ name: "x", data: ["abcdefgh"], type: "STRING" }], {
        codec: "UNCOMPRESSED",
        statistics: false,
      }),
    );
    bytes.writeUInt8(0xff, bytes.indexOf("abcdefgh"));
    expect(await refusalOf(bytes, { name: "a" })).toMatch(/^a: cannot be read as Parquet/);
  });

  test("an object that is only named Parquet is rejected", async () => {
    expect(await refusalOf("station,at\n1,2\n", { name: "a.parquet" })).toBe(
      "a.parquet: is not Parquet: it does not start with PAR1",
    );
  });

  test("Parquet needs a source that knows its size", async () => {
    const rows = read({ ...sourceOf(file), size: null });
    await expect(collect(rows)).rejects.toMatchObject({ code: "TG_OBJECT_UNREADABLE" });
  });

  test("a short range is a failure of the source, and can be retried", async () => {
    const source = sourceOf(file);
    const short: ByteSource = {
      ...source,
      range: (start, end, stop) => source.range(start, end - 1, stop),
    };
    await expect(collect(read(short))).rejects.toMatchObject({ code: "TG_OBJECTS_UNAVAILABLE" });
  });
});
