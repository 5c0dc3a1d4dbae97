import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");

test("the page has exactly one row for every test of bad input", () => {
  const tests = readFileSync(join(root, "test/integration/bad-input.test.ts"), "utf8");
  const titles = [...tests.matchAll(/^test\("(.*)", async/gm)].map(([, title]) => title);
  const page = readFileSync(join(root, "docs/reference/bad-input.md"), "utf8");
  expect(titles.length).toBeGreaterThan(0);
  expect(tests).not.toMatch(/\.(skip|only|todo|fails)\b/);
  expect(rowsOf(page, "what").map((cells) => cells.join(": "))).toEqual(titles);
});
