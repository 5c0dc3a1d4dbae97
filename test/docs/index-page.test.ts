// The index of the documentation lists every page under its kind.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const docs = join(import.meta.dirname, "../../docs");
const index = readFileSync(join(docs, "README.md"), "utf8");

/** The listed pages, each with its heading as the name of a folder. */
function listed(): string[] {
  return index.split(/^## /m).flatMap((section) => {
    const [heading = "", ...lines] = section.split("\n");
    return lines.flatMap((line) => {
      const [, target = ""] = /^- \[.+?\]\(([^)]+)\)/.exec(line) ?? [];
      return target === "" || target.startsWith("..")
        ? []
        : [`${heading.toLowerCase()}: ${target}`];
    });
  });
}

test("every page is listed once, under the heading of its folder", () => {
  const pages = globSync("**/*.md", { cwd: docs })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path !== "README.md")
    // The decisions have their own list with status, which another test checks.
    .filter((path) => !path.startsWith("decisions/") || path === "decisions/README.md")
    .map((path) => `${path.split("/")[0]}: ${path}`);
  expect(listed().toSorted()).toEqual(pages.toSorted());
});
