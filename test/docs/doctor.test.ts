import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RULES } from "../../src/doctor/rules/all-rules.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/doctor.md"), "utf8");

test("the page lists exactly the rules of the doctor", () => {
  const expected = RULES.map((rule) => [
    `\`${rule.id}\``,
    `\`${rule.name}\``,
    rule.severity,
    rule.risk,
    rule.title,
    rule.consequence,
    rule.fix,
  ]);
  expect(rowsOf(page, "id")).toEqual(expected);
});

test("ids and names of rules are unique, and ids grow", () => {
  const ids = RULES.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect(new Set(RULES.map(({ name }) => name)).size).toBe(RULES.length);
});
