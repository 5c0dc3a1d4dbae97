import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMPLIANCE_CHECKS } from "../../src/testkit/compliance/compliance-checks.ts";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/guides/producer-requirements.md"), "utf8");

test("the page lists every compliance check, in the order of the report", () => {
  const checks = rowsOf(page, "check").map(([name = ""]) => name.replaceAll("`", ""));
  expect(checks).toEqual(COMPLIANCE_CHECKS.map(({ name }) => name));
});

test("the specifications of hash and window name only checks that exist", () => {
  const [, cited = ""] = /^## Hash behaviour\n(.*)^## The checks$/ms.exec(page) ?? [];
  const specified = [
    ...cited.replaceAll(/\s+/g, " ").matchAll(/what the checks? ([^.]+?) test/g),
  ].flatMap(([, list = ""]) => [...list.matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name));
  expect(specified.length).toBeGreaterThan(5);
  const names = COMPLIANCE_CHECKS.map(({ name }) => name);
  expect(specified.filter((name) => !names.includes(name))).toEqual([]);
});
