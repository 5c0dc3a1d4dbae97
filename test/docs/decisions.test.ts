import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

test("the decision record lists exactly the dependencies of the package", () => {
  const { dependencies = {}, devDependencies } = JSON.parse(read("package.json"));
  const page = read("docs/decisions/0004-dependencies.md");
  const halves = page.split("## For development");
  const written = halves
    .flatMap((half) => rowsOf(half, "package"))
    .map(([name]) => {
      return name?.replaceAll("`", "");
    });
  const expected = Object.keys({ ...dependencies, ...devDependencies });
  expect(written.toSorted()).toEqual(expected.toSorted());
});

test("the index lists every decision record under its title", () => {
  const listed = rowsOf(read("docs/decisions/README.md"), "no.").map(([link, title]) => {
    const file = /\((.+)\)/.exec(link ?? "")?.[1];
    return [file, title];
  });
  const records = readdirSync(join(root, "docs/decisions"))
    .filter((name) => name !== "README.md")
    .toSorted()
    .map((name) => [name, /^# \d{4}: (.+)$/m.exec(read(`docs/decisions/${name}`))?.[1]]);
  expect(listed).toEqual(records);
});
