// Require: CommonJS code loads the package by require(), which takes ES modules unless one of them,
// or of what they import, awaits at its top level.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..");

test("every import path of the package can be required", async () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const paths = Object.keys(exports).map((path) => path.replace(/^\./, "tidegate"));
  const code = `
    const names = ${JSON.stringify(paths)}.map((path) => Object.keys(require(path)).length);
    console.log(names.every((count) => count > 0));
  `;
  const flags = ["--conditions=tidegate-source", "--input-type=commonjs", "--eval", code];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: root });
  expect(stdout).toBe("true\n");
});
