// Tidy: the rules of the house, held by a test. Each rule lives in test/tidy/ with its own tests.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { missingFromLock } from "../scripts/lock.ts";
import { checkBannedGlobals } from "./tidy/banned-globals.ts";
import { checkFileName } from "./tidy/file-names.ts";
import { checkCycles, checkDeadFiles, entriesNamedIn } from "./tidy/graph.ts";
import { checkImportTable } from "./tidy/import-table.ts";
import { checkLeftovers } from "./tidy/leftovers.ts";
import { checkMachineTraces } from "./tidy/machine-traces.ts";
import { checkFileSize, checkFunctionSizes, checkLineLengths } from "./tidy/sizes.ts";
import { isCode, parse, readRepository, type Violation } from "./tidy/source-file.ts";
import { checkSpreadLiterals } from "./tidy/spread-literals.ts";
import { checkUniqueExports } from "./tidy/unique-exports.ts";

const root = join(import.meta.dirname, "..");
const texts = readRepository(root);
const files = texts.filter(({ path }) => isCode(path)).map(({ path, text }) => parse(path, text));

/** Fails with one "file:line message" per violation. */
function expectNone(violations: readonly Violation[]): void {
  expect(violations.map(({ path, line, message }) => `${path}:${line} ${message}`)).toEqual([]);
}

test("the rules see the sources", () => {
  expect(files.map(({ path }) => path)).toContain("src/core/errors.ts");
});

test("rooms import only what the table allows", () => expectNone(checkImportTable(files)));

test("a name is exported by one file only", () => expectNone(checkUniqueExports(files)));

test("no file imports itself by way of others", () => expectNone(checkCycles(files)));

test("time, chance and the machine are used only where the house allows it", () => {
  expectNone(files.flatMap(checkBannedGlobals));
});

test("files are short enough to be read at once", () => expectNone(files.flatMap(checkFileSize)));

test("functions are short enough to be read at once", () => {
  expectNone(files.flatMap(checkFunctionSizes));
});

test("no object literal is spread into another", () => {
  // These three follow; then the rule holds for all of src.
  const pending = /^src\/(ingest|broker|stores)\//;
  expectNone(files.filter(({ path }) => !pending.test(path)).flatMap(checkSpreadLiterals));
});

test("lines fit on a page", () => expectNone(files.flatMap(checkLineLengths)));

test("files are named after the one thing inside", () => expectNone(texts.flatMap(checkFileName)));

test("every file is reached from a test or an entry point", (context) => {
  const declared = entriesNamedIn(readFileSync(join(root, "package.json"), "utf8"));
  const sources = new Set(declared.filter((path) => path.startsWith("src/")));
  const unwritten = [...sources].filter((path) => !existsSync(join(root, path)));
  context.skip(unwritten.length > 0, `entry points not written yet: ${unwritten.join(", ")}`);
  const configs = files.map(({ path }) => path).filter((path) => !path.includes("/"));
  const threads = files.map(({ path }) => path).filter((path) => path.endsWith("-thread-entry.ts"));
  expectNone(checkDeadFiles(files, [...declared, ...configs, ...threads]));
});

test("nothing is left over: no focused test, no unowned note, no code in comments", () => {
  expectNone(files.flatMap(checkLeftovers));
});

test("no file tells of the machine it was written on", () => {
  expectNone(texts.flatMap(checkMachineTraces));
});

test("the lock names every optional package, so that a fresh clone can install", () => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  expect(missingFromLock(lock), "run `npm run lock`").toEqual([]);
});
