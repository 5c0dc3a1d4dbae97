import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

test("the README shows examples/first-taste.ts, word for word", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const example = readFileSync(join(root, "examples/first-taste.ts"), "utf8");
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
});

test("the first taste runs, and does what its comments say", () => {
  const args = ["--conditions=tidegate-source", "examples/first-taste.ts"];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(output).toBe("true\nfalse\n");
});
