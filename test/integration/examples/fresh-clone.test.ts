// A fresh clone: the commands of README and guides work with nothing built.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const clone = useTemporaryFolder("clone");

beforeAll(() => {
  for (const name of ["src", "examples", "package.json", "tsconfig.json"]) {
    cpSync(join(root, name), join(clone, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
});

/** Runs a script of package.json as npm does, on the Node of the tests. */
function runScript(name: string, ...words: string[]) {
  const { scripts } = JSON.parse(readFileSync(join(clone, "package.json"), "utf8"));
  const [runner, ...own] = scripts[name].split(" ");
  expect(runner).toBe("node");
  const { status, stdout, stderr } = spawnSync(process.execPath, [...own, ...words], {
    cwd: clone,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test("npm run tidegate -- comply accepts the example producer", () => {
  expect(existsSync(join(clone, "dist"))).toBe(false);
  const { status, stdout, stderr } = runScript("tidegate", "comply", "examples/producer.ts");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).not.toContain("FAIL");
});

test("npm run example runs an example", () => {
  const { status, stdout, stderr } = runScript("example", "examples/first-taste.ts");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toBe("true\nfalse\n");
});
