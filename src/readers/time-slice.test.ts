// The event loop turns while an object is read. A clock that ticks with every call makes the
// number of turns independent of the machine.

import { gzipSync } from "node:zlib";
import type { SchemaElement } from "hyparquet";
import { type ColumnSource, parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test } from "vitest";
import { readAll, refusalOf, sourceOf } from "../../test/support/byte-sources.ts";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { systemPorts } from "../platform/index.ts";
import type { RowFormat } from "../ports/rows.ts";
import { createRowReader } from "./row-reader.ts";
import { paced, TIME_SLICE_MS, TimeSlice } from "./time-slice.ts";

const NEVER = new AbortController().signal;

/** A clock that advances by one millisecond per call, and turns that are counted. */
function tickingPorts(onTurn: (turns: number) => void = () => {}) {
  const clock = new ManualClock();
  let turns = 0;
  return {
    clock: {
      monotonic() {
        clock.advance(1);
        return clock.monotonic();
      },
    },
    turn: {
      afterTurn(work: () => void) {
        onTurn(++turns);
        setImmediate(work);
      },
    },
    turns: () => turns,
  };
}

function parquet(columnData: ColumnSource[], options = {}): Uint8Array {
  const rowGroupSize = columnData[0]?.data.length ?? 1;
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize, ...options }));
}

/** One page of one value. */
const equalRows = (count: number) =>
  parquet([{ name: "x", data: new Int32Array(count).fill(7), type: "INT32" }]);

const ROWS = 40_000;
const LIST_SCHEMA: SchemaElement[] = [
  { name: "root", num_children: 1 },
  { name: "x", repetition_type: "OPTIONAL", converted_type: "LIST", num_children: 1 },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  { name: "element", type: "INT32", repetition_type: "OPTIONAL" },
];
const LISTS = Array.from({ length: ROWS }, (_, index) => [index, 1]);
const OBJECTS: readonly [string, RowFormat, Uint8Array][] = [
  ["CSV", "csv", Buffer.from(`x\n${"7\n".repeat(ROWS)}`)],
  ["JSON Lines", "jsonl", Buffer.from('{"x":7}\n'.repeat(ROWS))],
  ["JSON", "json", Buffer.from(`[${'{"x":7},'.repeat(ROWS - 1)}{"x":7}]`)],
  ["one page of Parquet", "parquet", equalRows(ROWS)],
  ["Parquet lists", "parquet", parquet([{ name: "x", data: LISTS }], { schema: LIST_SCHEMA })],
];

describe("the event loop turns", () => {
  test("while millions of equal rows are read from one page, and never waits for a tenth of them", async () => {
    const count = 2_000_000;
    const source = sourceOf(equalRows(count));
    let rows = 0;
    let rowsAtTurn = 0;
    let rowsBetweenTurns = 0;
    let reading = true;
    const onTurn = () => {
      rowsBetweenTurns = Math.max(rowsBetweenTurns, rows - rowsAtTurn);
      rowsAtTurn = rows;
      if (reading) setImmediate(onTurn);
    };
    onTurn();
    const options = { format: "parquet", name: "a", signal: NEVER } as const;
    for await (const _ of createRowReader(systemPorts).read(source, options)) rows++;
    reading = false;
    onTurn();
    expect(rows).toBe(count);
    expect(rowsBetweenTurns).toBeLessThan(count / 10);
  });

  test.each(OBJECTS)("after each time slice of %s", async (_, format, bytes) => {
    const ports = tickingPorts();
    const options = { format, name: "a", signal: NEVER };
    let rows = 0;
    for await (const _row of createRowReader(ports).read(sourceOf(bytes), options)) rows++;
    expect(rows).toBe(ROWS);
    expect(ports.turns()).toBeGreaterThan(50);
  });

  test("not at all while the slice lasts", async () => {
    const turn = { afterTurn: () => expect.unreachable() };
    const ports = { clock: new ManualClock(), turn };
    for (const [, format, bytes] of OBJECTS) {
      const options = { format, name: "a", signal: NEVER };
      for await (const _ of createRowReader(ports).read(sourceOf(bytes), options));
    }
  });

  test("between items that take no rows", async () => {
    const ports = tickingPorts();
    async function* items() {
      for (let item = 0; item < 100 * TIME_SLICE_MS; item++) yield item;
    }
    for await (const _ of paced(items(), new TimeSlice(ports, NEVER)));
    expect(ports.turns()).toBeGreaterThanOrEqual(90);
  });
});

test.each(OBJECTS)(
  "an abort in the middle of %s ends it within one slice",
  async (_, format, bytes) => {
    const controller = new AbortController();
    const reason = new Error("lease lost");
    const ports = tickingPorts((turns) => {
      if (turns === 5) setImmediate(() => controller.abort(reason));
    });
    const { signal } = controller;
    const read = async () => {
      const rows = createRowReader(ports).read(sourceOf(bytes), { format, name: "a", signal });
      for await (const _row of rows);
    };
    await expect(read()).rejects.toBe(reason);
    expect(ports.turns()).toBeLessThanOrEqual(6);
  },
);

describe("rows and values per byte", () => {
  test("a million equal rows in a few hundred bytes are read", async () => {
    const bytes = equalRows(1_048_576);
    expect(bytes.length).toBeLessThan(1_000);
    expect(await readAll(bytes)).toHaveLength(1_048_576);
  });

  test("a file of very many equal rows is rejected before it is decoded", async () => {
    const bytes = equalRows(5_000_000);
    expect(await refusalOf(bytes, { name: "a" })).toBe(
      `a, row 4194305: has more than 4194304 rows in ${bytes.length} bytes, over ROWS_PER_BYTE_MAX`,
    );
  });

  test("a file of very many empty columns is rejected before it is decoded", async () => {
    const data = new Int32Array(1_000).fill(7);
    const columns = Array.from({ length: 10 }, (_, index) => {
      return { name: `c${index}`, data, type: "INT32" as const };
    });
    const limits = { cellsPerByteMax: 1, ratioBytesMin: 1 };
    expect(await refusalOf(parquet(columns), { name: "a", limits })).toMatch(
      /^a, row 1: has more than \d+ values in \d+ bytes, over CELLS_PER_BYTE_MAX$/,
    );
  });

  test("values that pages declare and the footer does not count", async () => {
    const data = Array.from({ length: 1_000 }, (_, index) => `value ${index % 400}`);
    const bytes = parquet([{ name: "x", data, type: "STRING" }]);
    const limitsOf = (cells: number) => {
      return { cellsPerByteMax: cells / bytes.length, ratioBytesMin: 1 };
    };
    expect(await readAll(bytes, { limits: limitsOf(1_400.5) })).toHaveLength(1_000);
    expect(await refusalOf(bytes, { limits: limitsOf(1_399.5) })).toContain("CELLS_PER_BYTE_MAX");
  });

  test("a compressed text of very many rows is rejected at its line", async () => {
    const bytes = gzipSync(`x\n${"1\n".repeat(100_000)}`);
    const limits = { ratioBytesMin: 1 };
    expect(await refusalOf(bytes, { name: "a.csv", limits })).toBe(
      `a.csv, line ${bytes.length * 64 + 2}: has more than ${bytes.length * 64} rows ` +
        `in ${bytes.length} bytes, over ROWS_PER_BYTE_MAX`,
    );
  });
});
