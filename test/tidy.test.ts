// Tidy: the rules of this repository, as tests. Each rule is a file in test/tidy/ with its own tests.

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
import { checkPlainCode, checkPlainText } from "./tidy/plain-words.ts";
import { checkPublicDocs, publicEntries } from "./tidy/public-docs.ts";
import {
  checkFileSize,
  checkFolderSizes,
  checkFunctionSizes,
  checkLineLengths,
} from "./tidy/sizes.ts";
import { isCode, parse, readRepository, type Violation } from "./tidy/source-file.ts";
import { checkSpreadLiterals } from "./tidy/spread-literals.ts";
import { checkUniqueExports } from "./tidy/unique-exports.ts";
import { checkUnitSockets } from "./tidy/unit-sockets.ts";

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

test("parts import only what the import table allows", () => expectNone(checkImportTable(files)));

test("a name is exported by one file only", () => expectNone(checkUniqueExports(files)));

test("every public name has a JSDoc comment", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expectNone(checkPublicDocs(files, publicEntries(manifest)));
});

test("imports form no cycle", () => expectNone(checkCycles(files)));

test("time, randomness and the operating system are used only in parts marked for it", () => {
  expectNone(files.flatMap(checkBannedGlobals));
});

test("unit tests use no sockets", () => expectNone(checkUnitSockets(files)));

test("files are short", () => expectNone(files.flatMap(checkFileSize)));

test("folders are small", () => expectNone(checkFolderSizes(files)));

test("functions are short", () => {
  expectNone(files.flatMap(checkFunctionSizes));
});

test("no object literal is spread into another", () => {
  expectNone(files.flatMap(checkSpreadLiterals));
});

test("prose uses plain words", () => {
  const pages = texts.filter(({ path }) => !isCode(path));
  expectNone([...files.flatMap(checkPlainCode), ...pages.flatMap(checkPlainText)]);
});

test("lines are short", () => expectNone(files.flatMap(checkLineLengths)));

test("files are named after the one thing inside", () => expectNone(texts.flatMap(checkFileName)));

test("every file is reached from a test or an entry point", () => {
  const declared = entriesNamedIn(readFileSync(join(root, "package.json"), "utf8"));
  const sources = new Set(declared.filter((path) => path.startsWith("src/")));
  const unwritten = [...sources].filter((path) => !existsSync(join(root, path)));
  expect(unwritten, "package.json names entry points that have no source").toEqual([]);
  const configs = files.map(({ path }) => path).filter((path) => !path.includes("/"));
  const started = files.map(({ path }) => path).filter((path) => path.endsWith("-entry.ts"));
  expectNone(checkDeadFiles(files, [...declared, ...configs, ...started]));
});

test("focused tests, TODOs without an owner and code in comments are rejected", () => {
  expectNone(files.flatMap(checkLeftovers));
});

test("no file names a path or registry of a developer's machine", () => {
  expectNone(texts.flatMap(checkMachineTraces));
});

test("the lock lists every optional package, so that a fresh clone can install", () => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  expect(missingFromLock(lock), "run `npm run lock`").toEqual([]);
});
