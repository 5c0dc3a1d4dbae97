// Links between pages: every target is a file, and every anchor is a heading of that file.

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { readRepository } from "../tidy/source-file.ts";

const root = join(import.meta.dirname, "../..");
const pages = readRepository(root).filter(({ path }) => path.endsWith(".md"));
const textOf = new Map(pages.map(({ path, text }) => [path, text]));

interface Link {
  readonly page: string;
  /** The linked file, relative to the root; the page itself for a bare anchor. */
  readonly file: string;
  /** Without "#"; empty if the link has none. */
  readonly anchor: string;
  readonly target: string;
}

function linksOf(page: string, text: string): Link[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor = ""] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      return { page, file, anchor, target };
    });
}

/** Anchors of a page's headings, as GitHub writes them; a repeated heading gets a number. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutCode(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let anchor = slug;
    for (let copy = 1; anchors.has(anchor); copy += 1) anchor = `${slug}-${copy}`;
    anchors.add(anchor);
  }
  return anchors;
}

const withoutCode = (text: string) => text.replaceAll(/^```.*?^```$/gms, "");

const links = pages.flatMap(({ path, text }) => linksOf(path, text));

test("every link between pages points to a file", () => {
  const broken = links
    .filter(({ file }) => !existsSync(join(root, file)))
    .map(({ page, target }) => `${page} -> ${target}`);
  expect(broken).toEqual([]);
});

test("every anchor in a link is a heading of the linked page", () => {
  const broken = links
    .filter(({ file, anchor }) => anchor !== "" && textOf.has(file))
    .filter(({ file, anchor }) => !anchorsOf(textOf.get(file) ?? "").has(anchor))
    .map(({ page, target }) => `${page} -> ${target}`);
  expect(broken).toEqual([]);
});

test("anchors are written as GitHub writes them", () => {
  const page = "# A `code`: and more\n## Same\n## Same\n```sh\n# no heading\n```\n";
  expect([...anchorsOf(page)]).toEqual(["a-code-and-more", "same", "same-1"]);
  expect(linksOf("docs/a.md", "[x](b.md#c) [y](#d) [z](https://e)")).toEqual([
    { page: "docs/a.md", file: "docs/b.md", anchor: "c", target: "b.md#c" },
    { page: "docs/a.md", file: "docs/a.md", anchor: "d", target: "#d" },
  ]);
});
