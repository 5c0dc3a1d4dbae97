import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { START_RULES } from "../../src/doctor/rules/all-rules.ts";
import { ERROR_TABLE, type ErrorRow, UNKNOWN_ROW } from "../../src/ingest/policy/error-table.ts";

import { rowsOf } from "../support/markdown-table.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../../docs", path), "utf8");

const code = (text: string | number) => `\`${text}\``;
const RETRIES = { backoff: "with backoff", never: "never" };

/** The page's text on how errors of a row are recognised. */
function recognisedBy(row: ErrorRow): string {
  const statuses = (row.statuses ?? []).map(([from, to]) => (from === to ? from : `${from}-${to}`));
  const parts = [
    (row.words ?? []).map(code),
    (row.sqlStates ?? []).map((state) => `SQLSTATE ${code(state.padEnd(5, "x"))}`),
    statuses.map((status) => `HTTP ${code(status)}`),
    (row.reasons ?? []).map((reason) => `reason ${code(reason)}`),
    (row.messages ?? []).map((message) => `message ${code(`${message}...`)}`),
  ].flat();
  return parts.length === 0 ? "-" : parts.join(", ");
}

test("the page has the rows of the error table, in order", () => {
  const rows: readonly ErrorRow[] = [...ERROR_TABLE, UNKNOWN_ROW];
  const expected = rows.map((row) => [
    code(row.errorClass),
    RETRIES[row.retry],
    row.blames,
    row.about,
    recognisedBy(row),
  ]);
  expect(rowsOf(read("reference/error-classes.md"), "class")).toEqual(expected);
});

test("the page on retries lists every queue check with its severity", () => {
  const listed = rowsOf(read("concepts/retries.md"), "finding").map(([id, severity]) => [
    id,
    severity,
  ]);
  expect(listed).toEqual(START_RULES.map(({ name, severity }) => [code(name), severity]));
});
