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
    rule.source,
  ]);
  expect(rowsOf(page, "id")).toEqual(expected);
});

test("ids and names of rules are unique, and ids grow", () => {
  const ids = RULES.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  expect(new Set(RULES.map(({ name }) => name)).size).toBe(RULES.length);
});

/** The anti-patterns of the broker patterns: five lists of five. */
const LISTS = [
  "queue configuration",
  "message processing",
  "scalability",
  "resilience",
  "security",
].flatMap((list) => [1, 2, 3, 4, 5].map((item) => [list, item] as const));

test.each(LISTS)("a rule covers the anti-pattern %s %i", (list, item) => {
  const cites = ({ source }: { readonly source: string }) => {
    const [, items = ""] = new RegExp(`${list} ([\\d and]+)`).exec(source) ?? [];
    return items.split(" and ").map(Number).includes(item);
  };
  expect(RULES.filter(cites)).not.toEqual([]);
});
