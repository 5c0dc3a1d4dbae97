import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("the page of the prices example shows what the example prints", () => {
  const args = ["--conditions=tidegate-source", "examples/prices/prices.ts"];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const page = readFileSync(join(root, "examples/prices/README.md"), "utf8");
  expect(page).toContain(`\`\`\`text\n${output.trim()}\n\`\`\``);
});
