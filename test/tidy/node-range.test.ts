// One range of Node versions, wherever it is stated.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The range of the package: ">=22.18" is "22.18". */
const lowest = (JSON.parse(read("package.json")).engines.node as string).replace(/^>=/, "");

test("the range of the package is a lowest version with a minor", () => {
  expect(lowest).toMatch(/^\d+\.\d+$/);
});

test.each(["README.md", "docs/start/tutorial.md", "CONTRIBUTING.md"])(
  "%s requires the same Node as the package",
  (path) => {
    const stated = [...read(path).matchAll(/Node (\d+(?:\.\d+)*) or later/g)];
    expect(stated.map(([, version]) => version)).toEqual([lowest]);
  },
);

test("the command, the scaffold and the lock file require the same Node as the package", () => {
  const [, major, minor] = /NODE_MIN = \[(\d+), (\d+)\]/.exec(read("src/cli/main.ts")) ?? [];
  expect(`${major}.${minor}`).toBe(lowest);
  expect(read("src/operate/init/new-project.ts")).toContain(`engines: { node: ">=${lowest}" }`);
  const lock = JSON.parse(read("package-lock.json"));
  expect(lock.packages[""].engines.node).toBe(`>=${lowest}`);
});
