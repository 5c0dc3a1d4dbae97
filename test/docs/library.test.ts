import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/reference/library.md"), "utf8");
const source = ["src/cloud/start-cloud.ts", "src/run/run-pipeline.ts", "src/run/dev/start-dev.ts"]
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");

/** The members of an interface, in their order. */
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

test.each([
  ["start option", ["StartOptions", "DevOptions"]],
  ["running", ["RunningPipeline"]],
  ["in dev", ["RunningDev"]],
])("it tells of every %s that tidegate/run has, and of no other", (heading, interfaces) => {
  expect(rowsOf(page, heading).map(([cell]) => cell)).toEqual(interfaces.flatMap(membersOf));
});

test("it tells of every function that tidegate/run exports", async () => {
  const exported = Object.entries(await import("../../src/api/run.ts"));
  const functions = exported.filter(([name]) => name !== "TidegateError").map(([name]) => name);
  const told = rowsOf(page, "function").map(([cell = ""]) => /^`(\w+)\(/.exec(cell)?.[1]);
  expect(told.toSorted()).toEqual(functions.toSorted());
});
