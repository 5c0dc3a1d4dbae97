// Load failure: why a pipeline file could not be imported, in one paragraph for its author.
//   W1. The position is `file:line:column`, which editors and terminals turn into a link, and is in
//       one of the user's files if possible.
//   W2. Thrown messages stay as they are. Stacks are left out; the cause has them.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";

export interface LoadedFile {
  /** The name that the user gave. */
  readonly file: string;
  readonly path: string;
  /** Files that were resolved so far; the pipeline file may be among them. */
  readonly loaded: readonly string[];
}

interface Position {
  readonly path: string;
  readonly line: number;
  readonly column: number | null;
}

const CHECK_MS_MAX = 10_000;
/** Files that are checked to find the one that does not compile. */
const CHECKS_MAX = 20;

export function describeLoadFailure(error: unknown, from: LoadedFile): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (error instanceof SyntaxError) return compileFailure(error, from);
  if (code === "ERR_MODULE_NOT_FOUND") return missingImport(error as Error, from);
  const position = error instanceof Error ? positionInStack(error.stack ?? "", from) : null;
  const where = positionText(position, from);
  if (typeof code === "string" && code.startsWith("TG_")) {
    return `${where}: ${(error as Error).message}`; // pipeline() describes the problem.
  }
  const thrown = error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error);
  return `${where}: the file throws while it is loaded: ${thrown ?? String(error)}`;
}

function compileFailure(error: SyntaxError, from: LoadedFile): string {
  const position = positionAtHead(error.stack ?? "") ?? positionByCheck(from);
  const { code = "" } = error as { code?: string };
  const fix =
    code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"
      ? "; Node only strips types, so enums, namespaces and parameter properties do not work"
      : "";
  return `${positionText(position, from)} does not compile: ${clause(error.message)}${fix}`;
}

/** Node prints the position of a syntax error above its stack: file and line, code, a caret. */
function positionAtHead(stack: string): Position | null {
  const lines = stack.split("\n");
  const [, file = "", line = ""] = /^(\S.*):(\d+)$/.exec(lines[0] ?? "") ?? [];
  if (file === "") return null;
  const caret = lines.slice(1, 6).find((text) => /^\s*\^+\s*$/.test(text));
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  return { path, line: Number(line), column: caret === undefined ? null : caret.indexOf("^") + 1 };
}

/**
 * The error of JavaScript that does not compile has no position, so that `node --check` is run on
 * the files in question. Errors of TypeScript have one.
 */
function positionByCheck({ path, loaded }: LoadedFile): Position | null {
  const suspects = [...new Set([...loaded, path])].filter((file) => /\.m?js$/.test(file));
  for (const file of suspects.reverse().slice(0, CHECKS_MAX)) {
    const check = spawnSync(process.execPath, ["--check", file], {
      encoding: "utf8",
      timeout: CHECK_MS_MAX,
    });
    if (check.status !== 0)
      return positionAtHead(check.stderr) ?? { path: file, line: 1, column: 1 };
  }
  return null;
}

function missingImport({ message }: Error, from: LoadedFile): string {
  const [, kind, what = "", importer = ""] =
    /^Cannot find (package|module) '(.+)' imported from (.+)$/.exec(message) ?? [];
  if (kind === undefined) return `cannot load ${from.file}: ${clause(message)}`;
  const position = positionOfImport(importer, kind === "package" ? what : basename(what));
  const where = positionText(position ?? { path: importer, line: 1, column: null }, from);
  return kind === "package"
    ? `${where} imports the package "${what}", which is not installed; run \`npm install ${what}\``
    : `${where} imports ${shown(what, from)}, which does not exist`;
}

function positionOfImport(importer: string, name: string): Position | null {
  const text = readOrNull(importer);
  if (text === null) return null;
  const lines = text.split("\n");
  const at = lines.findIndex((line) => /["']/.test(line) && line.includes(name));
  if (at < 0) return null;
  return { path: importer, line: at + 1, column: (lines[at] ?? "").search(/["']/) + 1 };
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** The innermost position in a user file: not in Node, this package or another one (W1). */
function positionInStack(stack: string, { path, loaded }: LoadedFile): Position | null {
  const users = new Set([path, ...loaded]);
  for (const [, file = "", line, column] of stack.matchAll(/(file:\/\/[^\s)]+):(\d+):(\d+)/g)) {
    const position = { path: fileURLToPath(file), line: Number(line), column: Number(column) };
    if (users.has(position.path)) return position;
  }
  return null;
}

function positionText(position: Position | null, from: LoadedFile): string {
  if (position === null) return from.file;
  const column = position.column === null ? "" : `:${position.column}`;
  return `${shown(position.path, from)}:${position.line}${column}`;
}

function shown(path: string, from: LoadedFile): string {
  if (path === from.path) return from.file;
  return relative(process.cwd(), path) || path;
}

function clause(text: string): string {
  return text.replace(/\.$/, "");
}
