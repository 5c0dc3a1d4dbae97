import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { titlesIn } from "../support/test-titles.ts";
import { FACTS } from "./facts.ts";

const titles = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(test\.ts|py)$/.test(name) && name !== "facts.test.ts")
  .sort()
  .flatMap((name) => titlesIn(readFileSync(join(import.meta.dirname, name), "utf8")));

const shown = new Map<number, string[]>();
for (const { title, facts } of titles) {
  for (const number of facts) shown.set(number, [...(shown.get(number) ?? []), title]);
}

const differences = readFileSync(
  join(import.meta.dirname, "../../docs/reference/aws-differences.md"),
  "utf8",
);

test("the facts are numbered without a gap", () => {
  expect(FACTS.map(({ number }) => number)).toEqual(FACTS.map((_, index) => index + 1));
});

test("every fact that clients can observe has a test that names it", () => {
  const untested = FACTS.filter(({ number, scope }) => scope === "outside" && !shown.has(number));
  expect(untested).toEqual([]);
});

test("every fact that a test names exists", () => {
  const numbers = new Set(FACTS.map(({ number }) => number));
  expect([...shown].filter(([number]) => !numbers.has(number))).toEqual([]);
});

test("every difference has its row on the page of differences", () => {
  const lines = differences.split("\n");
  const missing = FACTS.filter(({ scope, difference }) => {
    if (difference === undefined) return scope === "differs";
    return !lines.some((line) => line.startsWith(`| ${difference} |`));
  });
  expect(missing).toEqual([]);
});

test("a title is parsed with all the facts at its start", () => {
  const code = [
    'test("[1] one", () => {});',
    'test("[2][31] two of them", async () => {});',
    'test.each([1])("[4] each of %d [5]", () => {});',
    "test(\n  `[6] in a template`,\n  () => {},\n);",
    '@check("[7] in Python")',
    'test("no fact [8]", () => {});',
  ];
  expect(titlesIn(code.join("\n")).map(({ facts }) => facts)).toEqual([
    [1],
    [2, 31],
    [4],
    [6],
    [7],
  ]);
});
