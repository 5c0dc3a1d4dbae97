import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PARQUET_CODECS } from "../../src/readers/parquet-codecs.ts";
import { COMPRESSION_SUFFIXES, FORMAT_SUFFIXES } from "../../src/readers/row-format.ts";
import * as limits from "../../src/readers/row-limits.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/formats.md"), "utf8");

test("the page lists the suffixes of the code", () => {
  const expected = Object.entries(FORMAT_SUFFIXES).map(([suffix, it]) => [`\`${suffix}\``, it]);
  expect(rowsOf(page, "suffix")).toEqual(expected);
  const packed = COMPRESSION_SUFFIXES.map((suffix) => `\`${suffix}\``).join(" and ");
  expect(page).toContain(`${packed} are taken off first`);
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
  const expected = named.map((name) => [`\`${name}\``, limits.describeBytes(Number(all[name]))]);
  expect(written).toEqual(expected);
  expect(named.map((name) => all[name])).toEqual(Object.values(ROW_LIMITS));
  const values = limits.PARQUET_PAGE_VALUES_MAX.toLocaleString("en-US");
  expect(page).toContain(`may declare up to ${values} values`);
});

test("the page lists the supported codecs", () => {
  expect(rowsOf(page, "codec")).toEqual(PARQUET_CODECS.map((codec) => [`\`${codec}\``]));
});
