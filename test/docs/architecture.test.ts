import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsOf } from "../support/markdown-table.ts";
import { ROOMS } from "../tidy/rooms.ts";
import { readRepository } from "../tidy/source-file.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
/** src/broker and src/index.ts: told of by name in the rows of what they put together. */
const TOLD_OTHERWISE = ["broker", "index"];

test("every room of the import table is told of, with a ring if and only if it has no code", () => {
  const told = rowsOf(page, "part").flatMap(([cell = ""]) =>
    [...cell.matchAll(/`([a-z/]+)`/g)].map(([, name = ""]) => [name, !cell.startsWith("○")]),
  );
  const rooms = Object.keys(ROOMS)
    .filter((name) => !TOLD_OTHERWISE.includes(name))
    .map((name) => [name, existsSync(join(root, "src", name))]);
  expect(told.toSorted()).toEqual(rooms.toSorted());
});

/** What a cell names as a room stands for that room and those inside of it. */
const INSIDE: Readonly<Record<string, readonly string[]>> = {
  all: ["*"],
  nothing: [],
  broker: ["broker", "broker/engine", "broker/model", "broker/wire"],
  ingest: ["ingest", "ingest/policy"],
};

/** The rooms in a cell; types and single files of a room are told in words, and passed over. */
function roomsIn(cell: string): string[] {
  const spelt = cell.replace(/stores\/\{(.+?)\}/, (_, names: string) =>
    names.replace(/(\w+)/g, "stores/$1").replaceAll(",", ", "),
  );
  const parts = spelt.split(", ").filter((part) => !/^(types|the) /.test(part));
  return parts.flatMap((part) => INSIDE[part] ?? [part]).toSorted();
}

test("every room may import what its row says, and nothing else", () => {
  const told = rowsOf(page, "part").flatMap(([cell = "", , imports = ""]) =>
    [...cell.matchAll(/`([a-z/]+)`/g)].map(([, name = ""]) => [name, roomsIn(imports)]),
  );
  const allowed = told.map(([name]) => [name, ROOMS[String(name)]?.imports.toSorted()]);
  expect(told).toEqual(allowed);
});

test("every word of the glossary is told once, and is a word of the code unless a ring says planned", () => {
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
