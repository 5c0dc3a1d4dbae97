import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";
import { ROOMS } from "../tidy/rooms.ts";
import { readRepository } from "../tidy/source-file.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
/** src/broker and src/index.ts: the rows of their parts cover them. */
const COVERED_ELSEWHERE = ["broker", "index"];

test("the page lists every part of the import table, with a ring if and only if it has no code", () => {
  const listed = rowsOf(page, "part").flatMap(([cell = ""]) =>
    [...cell.matchAll(/`([a-z/]+)`/g)].map(([, name = ""]) => [name, !cell.startsWith("○")]),
  );
  const parts = Object.keys(ROOMS)
    .filter((name) => !COVERED_ELSEWHERE.includes(name))
    .map((name) => [name, existsSync(join(root, "src", name))]);
  expect(listed.toSorted()).toEqual(parts.toSorted());
});

/** A part in a cell stands for itself and the parts inside it. */
const INSIDE: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  stores: ["memory", "sqlite", "files", "postgres", "dynamodb"].map((name) => `stores/${name}`),
  sinks: ["sinks/table", "sinks/function", "sinks/objects"],
  broker: ["broker", "broker/engine", "broker/model", "broker/wire"],
  ingest: ["ingest", "ingest/policy"],
};

/** The parts in a cell. Types and single files are described in words, and ignored. */
function partsIn(cell: string): string[] {
  const spelt = cell.replace(/stores\/\{(.+?)\}/, (_, names: string) =>
    names.replace(/(\w+)/g, "stores/$1").replaceAll(",", ", "),
  );
  const parts = spelt.split(", ").filter((part) => !/^(types|the) /.test(part));
  return parts.flatMap((part) => INSIDE[part] ?? [part]).toSorted();
}

test("every part may import exactly what its row lists", () => {
  const listed = rowsOf(page, "part").flatMap(([cell = "", , imports = ""]) =>
    [...cell.matchAll(/`([a-z/]+)`/g)].map(([, name = ""]) => [name, partsIn(imports)]),
  );
  const allowed = listed.map(([name]) => [name, ROOMS[String(name)]?.imports.toSorted()]);
  expect(listed).toEqual(allowed);
});

test("every word of the glossary occurs once, and is used in the code unless a ring marks it as planned", () => {
  const words = rowsOf(page, "word").map(([word = ""]) => word);
  expect(new Set(words).size).toBe(words.length);
  const source = readRepository(root)
    .filter(({ path }) => path.startsWith("src/"))
    .map(({ text }) => text.toLowerCase())
    .join("\n");
  const planned = words.filter((word) => word.startsWith("○"));
  const unused = words.filter((word) => !new RegExp(`\\b${word.replace("○ ", "")}`).test(source));
  expect(unused).toEqual(planned);
});

test("a walk has at most eight files, and each of them exists", () => {
  const section = page.slice(page.indexOf("## Two walks"), page.indexOf("## How it is tested"));
  const walks = section.split(/^From /m).slice(1);
  const files = walks.map((walk) =>
    [...walk.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file),
  );
  expect(files.map(({ length }) => length > 0 && length <= 8)).toEqual([true, true]);
  const missing = files.flat().filter((file) => !existsSync(join(root, "src", String(file))));
  expect(missing).toEqual([]);
});
