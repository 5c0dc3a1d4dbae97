import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../../src/core/errors.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/errors.md"), "utf8");

test("the page lists the error codes of the code, in alphabetical order", () => {
  const written = rowsOf(page, "code").map(([code, retry, hint]) => [code, retry, hint]);
  const expected = Object.entries(ERROR_CODES)
    .map(([code, { retry, hint }]) => [`\`${code}\``, retry, hint])
    .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1));
  expect(written).toEqual(expected);
});
