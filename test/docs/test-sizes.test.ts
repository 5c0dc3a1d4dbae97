import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "test/README.md"), "utf8");

test("the page about tests lists every size that CI sets, with its value", () => {
  const ci = readFileSync(join(root, ".ci/run"), "utf8");
  const sizes = [...ci.matchAll(/^export (TIDEGATE_\w+)="\$\{\1:-(\w+)\}"/gm)];
  expect(sizes.length).toBeGreaterThan(5);
  for (const [, name, value = ""] of sizes) {
    const row = page.split("\n").find((line) => line.startsWith(`| \`${name}\``));
    expect([name, row?.split("|")[3]?.trim().replaceAll(",", "")]).toEqual([name, value]);
  }
});

test("the page about tests lists every folder of tests", () => {
  const folders = readdirSync(join(root, "test"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const cells = page.split("\n").map((line) => line.split("|")[1] ?? "");
  for (const folder of folders) {
    expect(
      cells.filter((cell) => cell.includes(`\`${folder}\``)),
      folder,
    ).toHaveLength(1);
  }
});
