// The guide to other servers lists exactly the gaps that the tests skip.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GAPS } from "../support/foreign/gaps.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(
  join(import.meta.dirname, "../../docs/guides/foreign-servers.md"),
  "utf8",
);

test("the guide has a row for every gap, and no other", () => {
  const rows = GAPS.map(({ server, guarantee, reason }) => [server, guarantee, reason]);
  expect(rowsOf(page, "server")).toEqual(rows);
});
