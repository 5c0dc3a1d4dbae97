import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readRepository } from "../tidy/source-file.ts";

const root = join(import.meta.dirname, "../..");
const pages = readRepository(root).filter(({ path }) => path.endsWith(".md"));

test("every link between our pages leads to a file", () => {
  const broken = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => target.replace(/#.*$/, ""))
      .filter((target) => target !== "" && !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(root, dirname(path), target)))
      .map((target) => `${path} -> ${target}`),
  );
  expect(broken).toEqual([]);
});
