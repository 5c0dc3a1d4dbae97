import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PARQUET_CODECS } from "../../src/readers/parquet-codecs.ts";
import { COMPRESSION_SUFFIXES, FORMAT_SUFFIXES } from "../../src/readers/row-format.ts";
import * as limits from "../../src/readers/row-limits.ts";
import { TIME_SLICE_MS } from "../../src/readers/time-slice.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/formats.md"), "utf8");

/** Ratios are plain numbers; all other limits are sizes. */
function describe(name: string, value: number): string {
  return name.includes("_PER_BYTE_") ? String(value) : limits.describeBytes(value);
}

test("the page lists the suffixes of the code", () => {
  const expected = Object.entries(FORMAT_SUFFIXES).map(([suffix, it]) => [`\`${suffix}\``, it]);
  expect(rowsOf(page, "suffix")).toEqual(expected);
  const packed = COMPRESSION_SUFFIXES.map((suffix) => `\`${suffix}\``).join(" and ");
  expect(page).toContain(`${packed} are taken off first`);
});

test("the page describes every CSV option", () => {
  const source = readFileSync(join(import.meta.dirname, "../../src/core/csv-format.ts"), "utf8");
  const members = [...source.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => `\`${name}\``);
  expect(rowsOf(page, "csv option").map(([name]) => name)).toEqual(members);
});

test("the page describes every format once", () => {
  const described = rowsOf(page, "format").map(([format]) => format);
  expect(described).toEqual([...new Set(Object.values(FORMAT_SUFFIXES))]);
});

test("the page shows the limits of the code", () => {
  const { ROW_LIMITS } = limits;
  const written = rowsOf(page, "limit").map(([name, value]) => [name, value]);
  const all: Readonly<Record<string, unknown>> = limits;
  const named = Object.keys(ROW_LIMITS).map((key) => key.replace(/[A-Z]/g, "_$&").toUpperCase());
  const expected = named.map((name) => [`\`${name}\``, describe(name, Number(all[name]))]);
  expect(written).toEqual(expected);
  expect(named.map((name) => all[name])).toEqual(Object.values(ROW_LIMITS));
  const values = limits.PARQUET_PAGE_VALUES_MAX.toLocaleString("en-US");
  expect(page).toContain(`may declare up to ${values} values`);
});

test("the page shows how many rows and values any object may have", () => {
  const { RATIO_BYTES_MIN, ROWS_PER_BYTE_MAX, CELLS_PER_BYTE_MAX } = limits;
  const rows = (RATIO_BYTES_MIN * ROWS_PER_BYTE_MAX).toLocaleString("en-US");
  const values = (RATIO_BYTES_MIN * CELLS_PER_BYTE_MAX).toLocaleString("en-US");
  expect(page.replaceAll(/\s+/g, " ")).toContain(`have ${rows} rows and ${values} values`);
  expect(page).toContain(`after every ${TIME_SLICE_MS} ms of continuous work`);
});

test("the page lists the supported codecs", () => {
  expect(rowsOf(page, "codec")).toEqual(PARQUET_CODECS.map((codec) => [`\`${codec}\``]));
});
