import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import {
  collect,
  failingSource,
  hangingSource,
  readAll,
  readValues,
  refusalOf,
  sourceOf,
} from "../../test/support/byte-sources.ts";
import { systemPorts } from "../platform/index.ts";
import type { ByteSource, Row, RowFormat } from "../ports/rows.ts";
import { createRowReader } from "./row-reader.ts";

const NEVER = new AbortController().signal;

/** Text that every format supports: no NUL, no lone surrogates. */
const anyText = fc
  .string({ unit: "binary", maxLength: 12 })
  .map((text) => text.replaceAll("\0", "").toWellFormed());
const anyName = anyText.filter((text) => text !== "");
const anyNames = fc.uniqueArray(anyName, { minLength: 1, maxLength: 4 });
const anyRows = anyNames.chain((names) =>
  fc.array(
    fc
      .tuple(...names.map(() => anyText))
      .map((cells): Row => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""]))),
    { minLength: 1, maxLength: 8 },
  ),
);
const anyLengths = fc
  .array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 6 })
  .map((lengths) => (lengths.some((length) => length > 0) ? lengths : [1]));
/** Compression: none, or one to three members in sequence. */
const anyPacking = fc.record({
  compression: fc.constantFrom("none" as const, "gzip" as const, "zstd" as const),
  members: fc.integer({ min: 1, max: 3 }),
});

function pack(
  bytes: Uint8Array,
  { compression, members }: { compression: "none" | "gzip" | "zstd"; members: number },
): Uint8Array {
  if (compression === "none") return bytes;
  const step = Math.ceil(bytes.length / members) || 1;
  const parts = Array.from({ length: members }, (_, i) => bytes.subarray(i * step, (i + 1) * step));
  return Buffer.concat(
    parts.map((part) => (compression === "gzip" ? gzipSync(part) : zstdCompressSync(part))),
  );
}

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
const asCsv = (rows: readonly Row[], lineEnd: string) =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))]
    .map((cells) => cells.map(quoted).join(",") + lineEnd)
    .join("");
const WRITERS: Readonly<Record<"csv" | "jsonl" | "json", (rows: readonly Row[]) => string>> = {
  csv: (rows) => asCsv(rows, "\r\n"),
  jsonl: (rows) => rows.map((row) => JSON.stringify(row)).join("\n"),
  json: (rows) => JSON.stringify(rows, null, 1),
};

describe("rows are read as they were written", () => {
  test.each(["csv", "jsonl", "json"] as const)(
    "%s, plain, gzip or zstd, however it is cut into chunks",
    async (format) => {
      const property = fc.asyncProperty(
        anyRows,
        anyPacking,
        anyLengths,
        async (rows, how, cuts) => {
          const bytes = pack(Buffer.from(WRITERS[format](rows)), how);
          expect(await readValues(bytes, { format, lengths: cuts })).toEqual(rows);
        },
      );
      await fc.assert(property, { numRuns: 150 });
    },
  );

  test("parquet, in every codec and in row groups of any size", async () => {
    const codecs = fc.constantFrom("UNCOMPRESSED" as const, "SNAPPY" as const, "GZIP" as const);
    const property = fc.asyncProperty(
      anyRows,
      codecs,
      fc.integer({ min: 1, max: 5 }),
      async (rows, codec, rowGroupSize) => {
        const names = Object.keys(rows[0] ?? {});
        const columnData = names.map((name) => {
          return { name, data: rows.map((row) => row[name]), type: "STRING" as const };
        });
        const compressors = { GZIP: (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes)) };
        const file = parquetWriteBuffer({ columnData, codec, compressors, rowGroupSize });
        expect(await readValues(new Uint8Array(file))).toEqual(rows);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });
});

describe("which format an object has", () => {
  test.each([
    ["a/b.CSV", "x\n1\n", { x: "1" }],
    ["a.tsv.gz", "x\ty,z\n1\t2\n", { x: "1", "y,z": "2" }],
    ["a.ndjson", '{"x":1}', { x: 1 }],
    ["a.json.zst", '{"x":1}', { x: 1 }],
    ["no-suffix", ' \n{"x":1}\n', { x: 1 }],
    ["no-suffix", '\ufeff [{"x":1}]', { x: 1 }],
    ["b.csv/no-suffix", "x\n[\n", { x: "[" }],
    ["x.2026", "x\n1\n", { x: "1" }],
  ])("%s is read by its suffix, else by its first byte", async (name, text, row) => {
    expect(await readValues(text, { name })).toEqual([row]);
  });

  test("compression is detected by content, whatever the suffix", async () => {
    expect(await readValues("x\n1\n", { name: "a.csv.gz" })).toEqual([{ x: "1" }]);
    expect(await readValues(gzipSync("x\n1\n"), { name: "a.csv" })).toEqual([{ x: "1" }]);
    expect(await readValues(zstdCompressSync("x\n1\n"), { name: "a" })).toEqual([{ x: "1" }]);
  });

  test("Parquet is detected by content, whatever the name", async () => {
    const file = parquetWriteBuffer({ columnData: [{ name: "x", data: [1], type: "INT32" }] });
    expect(await readValues(new Uint8Array(file), { name: "a.csv" })).toEqual([{ x: 1 }]);
  });

  test("Parquet inside gzip is rejected, and so is double compression", async () => {
    const file = parquetWriteBuffer({ columnData: [{ name: "x", data: [1], type: "INT32" }] });
    const packed = gzipSync(new Uint8Array(file));
    const reason = "is compressed with gzip; Parquet is read by ranges, so store it as it is";
    for (const name of ["a.gz", "a.parquet", "a.parquet.gz"]) {
      expect(await refusalOf(packed, { name })).toBe(`${name}: ${reason}`);
    }
    expect(await refusalOf(packed, { name: "a", format: "parquet" })).toBe(`a: ${reason}`);
    expect(await refusalOf(zstdCompressSync(gzipSync("x\n1\n")), { name: "a.csv" })).toBe(
      "a.csv: is compressed twice, gzip inside zstd",
    );
  });

  test.each<[RowFormat]>([["csv"], ["jsonl"], ["json"]])(
    "an empty object of %s has no rows, compressed or not",
    async (format) => {
      for (const bytes of [Buffer.alloc(0), gzipSync(""), zstdCompressSync("")]) {
        expect(await readAll(bytes, { format })).toEqual([]);
      }
      expect(await readAll("\ufeff", { format })).toEqual([]);
    },
  );

  test("an empty Parquet object is unreadable", async () => {
    expect(await refusalOf("", { name: "a.parquet" })).toBe(
      "a.parquet: is not Parquet: it has 0 bytes",
    );
  });
});

describe("failures and ends", () => {
  const CSV = Buffer.from(`x\n${"1\n".repeat(1_000)}`);

  test.each(["csv", "jsonl", "json", "parquet"] as const)(
    "an error of the source is passed on unchanged, for %s",
    async (format) => {
      const error = new Error("connection reset");
      const source = failingSource([Buffer.from(format === "csv" ? "x\n1\n" : "{}\n")], error);
      const rows = createRowReader(systemPorts).read(
        { ...source, size: format === "parquet" ? 100 : null },
        { format, name: "a", signal: NEVER },
      );
      await expect(collect(rows)).rejects.toBe(error);
    },
  );

  test.each([["gzip", gzipSync] as const, ["zstd", zstdCompressSync] as const])(
    "the same inside %s",
    async (_, packer) => {
      const error = new Error("connection reset");
      const source = failingSource([packer(CSV).subarray(0, 20)], error);
      const rows = createRowReader(systemPorts).read(source, {
        format: "csv",
        name: "a",
        signal: NEVER,
      });
      await expect(collect(rows)).rejects.toBe(error);
    },
  );

  test("a stream that ends too early is a failure of the source, and can be retried", async () => {
    const source: ByteSource = { ...sourceOf(CSV), size: CSV.length + 1 };
    const rows = createRowReader(systemPorts).read(source, {
      format: "csv",
      name: "a",
      signal: NEVER,
    });
    await expect(collect(rows)).rejects.toMatchObject({
      code: "TG_OBJECTS_UNAVAILABLE",
      retry: "later",
    });
  });

  test.each([["plain", CSV] as const, ["gzip", gzipSync(CSV)] as const])(
    "breaking off closes the source and reads no further: %s",
    async (_, bytes) => {
      const source = sourceOf(bytes, [8]);
      for await (const row of createRowReader(systemPorts).read(source, {
        format: "csv",
        name: "a",
        signal: NEVER,
      })) {
        expect(row).toEqual({ line: 2, value: { x: "1" } });
        break;
      }
      expect([source.opened(), source.closed()]).toEqual([1, 1]);
    },
  );

  test("leaving the loop does not wait for a hanging read, even behind a decoder", async () => {
    const numbers = Array.from({ length: 20_000 }, (_, index) => `${index * 7_919}\n`).join("");
    const packed = gzipSync(`x\n${numbers}`);
    const { source, state } = hangingSource(packed.subarray(0, packed.length / 2), () => {});
    for await (const _ of createRowReader(systemPorts).read(source, {
      format: "csv",
      name: "a",
      signal: NEVER,
    })) {
      break;
    }
    expect(state).toMatchObject({ returned: true, signal: { aborted: true } });
  });

  test("reading to the end, and failing, close the source too", async () => {
    for (const text of ["x\n1\n", "x\n1,2\n"]) {
      const source = sourceOf(Buffer.from(text));
      const rows = createRowReader(systemPorts).read(source, {
        format: "csv",
        name: "a",
        signal: NEVER,
      });
      await collect(rows).catch(() => {});
      expect([source.opened(), source.closed()]).toEqual([1, 1]);
    }
  });

  test("nothing is opened before the first row is requested", () => {
    const source = sourceOf(CSV);
    createRowReader(systemPorts).read(source, { format: "csv", name: "a", signal: NEVER });
    expect(source.opened()).toBe(0);
  });

  test("an abort between rows closes the source immediately, and the next read throws it", async () => {
    const controller = new AbortController();
    const source = sourceOf(CSV, [8]);
    const { signal } = controller;
    const rows = createRowReader(systemPorts).read(source, { format: "csv", name: "a", signal });
    const iterator = rows[Symbol.asyncIterator]();
    await iterator.next();
    const reason = new Error("lease lost");
    controller.abort(reason);
    await new Promise(setImmediate); // One turn, without a request for a row.
    expect(source.closed()).toBe(1);
    await expect(iterator.next()).rejects.toBe(reason);
  });

  test.each([
    ["plain", Buffer.from("x\n1\n2"), "csv" as const],
    ["gzip", gzipSync(CSV).subarray(0, 12), "csv" as const],
    ["json", Buffer.from("["), "json" as const],
  ])("an abort ends a hanging read: %s", async (_, first, format) => {
    const controller = new AbortController();
    const reason = new Error("shutting down");
    const { source, state } = hangingSource(first, () => controller.abort(reason));
    const { signal } = controller;
    const reading = collect(
      createRowReader(systemPorts).read(source, { format, name: "a", signal }),
    );
    await expect(reading).rejects.toBe(reason);
    expect(state.returned).toBe(true);
    expect(state.signal?.aborted).toBe(true);
  });

  test("an abort ends a hanging range request", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const source: ByteSource = {
      ...sourceOf(Buffer.from("PAR1 and so on")),
      range: () => {
        queueMicrotask(() => controller.abort(new Error("shutting down")));
        return new Promise(() => {});
      },
    };
    const rows = createRowReader(systemPorts).read(source, { format: "auto", name: "a", signal });
    await expect(collect(rows)).rejects.toThrow("shutting down");
  });

  test("with an aborted signal, nothing is opened", async () => {
    const source = sourceOf(CSV);
    const signal = AbortSignal.abort(new Error("too late"));
    const rows = createRowReader(systemPorts).read(source, { format: "csv", name: "a", signal });
    await expect(collect(rows)).rejects.toThrow("too late");
    expect(source.opened()).toBe(0);
  });
});
