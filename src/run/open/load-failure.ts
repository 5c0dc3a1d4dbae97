// Load failure: why a pipeline file could not be imported, in one paragraph for its writer.
//   W1. The place is `file:line:column`, as editors and terminals make links of, and lies in a file
//       of the user's wherever one can be found.
//   W2. What somebody threw is told in their words. Stacks stay away; the cause keeps them.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";

export interface LoadedFile {
  /** As the user named it. */
  readonly file: string;
  readonly path: string;
  /** Files that were resolved on the way, the pipeline file among them or not. */
  readonly loaded: readonly string[];
}

interface Place {
  readonly path: string;
  readonly line: number;
  readonly column: number | null;
}

const CHECK_MS_MAX = 10_000;
/** Files looked through for the one that does not compile. */
const CHECKS_MAX = 20;

export function describeLoadFailure(error: unknown, from: LoadedFile): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (error instanceof SyntaxError) return compileFailure(error, from);
  if (code === "ERR_MODULE_NOT_FOUND") return missingImport(error as Error, from);
  const place = error instanceof Error ? placeInStack(error.stack ?? "", from) : null;
  const where = tellPlace(place, from);
  if (typeof code === "string" && code.startsWith("TG_")) {
    return `${where}: ${(error as Error).message}`; // The pipeline itself says what is wrong.
  }
  const thrown = error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error);
  return `${where}: the file throws while it is loaded: ${thrown ?? String(error)}`;
}

function compileFailure(error: SyntaxError, from: LoadedFile): string {
  const place = placeAtHead(error.stack ?? "") ?? placeByCheck(from);
  const { code = "" } = error as { code?: string };
  const advice =
    code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"
      ? " Node runs TypeScript by taking its types away, so enums, namespaces and parameter " +
        "properties cannot be used."
      : "";
  return `${tellPlace(place, from)} does not compile: ${sentence(error.message)}${advice}`;
}

/** Node writes the place of a syntax error above its stack: file and line, the code, a caret. */
function placeAtHead(stack: string): Place | null {
  const lines = stack.split("\n");
  const [, file = "", line = ""] = /^(\S.*):(\d+)$/.exec(lines[0] ?? "") ?? [];
  if (file === "") return null;
  const caret = lines.slice(1, 6).find((text) => /^\s*\^+\s*$/.test(text));
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  return { path, line: Number(line), column: caret === undefined ? null : caret.indexOf("^") + 1 };
}

/**
 * V8 tells nobody but the terminal where JavaScript does not compile, so that Node is asked to
 * check the files in question; of TypeScript the place is known already.
 */
function placeByCheck({ path, loaded }: LoadedFile): Place | null {
  const suspects = [...new Set([...loaded, path])].filter((file) => /\.m?js$/.test(file));
  for (const file of suspects.reverse().slice(0, CHECKS_MAX)) {
    const check = spawnSync(process.execPath, ["--check", file], {
      encoding: "utf8",
      timeout: CHECK_MS_MAX,
    });
    if (check.status !== 0) return placeAtHead(check.stderr) ?? { path: file, line: 1, column: 1 };
  }
  return null;
}

function missingImport({ message }: Error, from: LoadedFile): string {
  const [, kind, what = "", importer = ""] =
    /^Cannot find (package|module) '(.+)' imported from (.+)$/.exec(message) ?? [];
  if (kind === undefined) return `${from.file} cannot be loaded: ${sentence(message)}`;
  const place = placeOfImport(importer, kind === "package" ? what : basename(what));
  const where = tellPlace(place ?? { path: importer, line: 1, column: null }, from);
  return kind === "package"
    ? `${where} imports the package "${what}", which is not installed: run \`npm install ${what}\`.`
    : `${where} imports ${shown(what, from)}, which is not there.`;
}

function placeOfImport(importer: string, name: string): Place | null {
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

/** The innermost place in a file of the user's: neither Node's, nor ours, nor a package's (W1). */
function placeInStack(stack: string, { path, loaded }: LoadedFile): Place | null {
  const users = new Set([path, ...loaded]);
  for (const [, file = "", line, column] of stack.matchAll(/(file:\/\/[^\s)]+):(\d+):(\d+)/g)) {
    const found = { path: fileURLToPath(file), line: Number(line), column: Number(column) };
    if (users.has(found.path)) return found;
  }
  return null;
}

function tellPlace(place: Place | null, from: LoadedFile): string {
  if (place === null) return from.file;
  const column = place.column === null ? "" : `:${place.column}`;
  return `${shown(place.path, from)}:${place.line}${column}`;
}

function shown(path: string, from: LoadedFile): string {
  if (path === from.path) return from.file;
  return relative(process.cwd(), path) || path;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
