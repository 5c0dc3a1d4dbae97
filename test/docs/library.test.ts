import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "./markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/library.md"), "utf8");
const source = readFileSync(join(root, "src/cloud/start-cloud.ts"), "utf8");

/** The members of an interface in start-cloud.ts, in their order. */
function membersOf(name: string): string[] {
  const body = new RegExp(`^export interface ${name}\\b.*?^}`, "ms").exec(source)?.[0] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(
    ([, member]) => `\`${member}\``,
  );
}

test("the page on the library tells of every option of startCloud, and of no other", () => {
  expect(rowsOf(page, "option").map(([option]) => option)).toEqual(membersOf("CloudOptions"));
});

test("it tells of everything that a started cloud has", () => {
  expect(rowsOf(page, "member").map(([member]) => member)).toEqual(membersOf("Cloud"));
});
