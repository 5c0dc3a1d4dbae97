// Sizes: limits for files, functions, lines and folders.
//   Z1. A function that only groups tests (the callback of a `describe`, a suite shared by several
//       adapters) may be as long as the file; each test in it may not.
//   Z2. A line may exceed the limit because of text that cannot be broken: a string, a regular
//       expression, a URL, or the specifier of an import.
//   Z3. A file that a script writes may be of any length: its size is that of its source.
//   Z4. A folder of src has at most 25 sources, so that `ls` shows how its part is built; folders
//       with one file per AWS action are excepted.

import { dirname } from "node:path";
import { isNode, isTest, type Node, type SourceFile, type Violation, walk } from "./source-file.ts";

export const FILE_LINES_MAX = 400;
export const TEST_FILE_LINES_MAX = 600;
export const FUNCTION_LINES_MAX = 60;
export const LINE_COLUMNS_MAX = 100;
export const FOLDER_SOURCES_MAX = 25;
const WRITTEN = /^\/\/ .*Written by scripts\//;

export function checkFileSize({ path, text }: SourceFile): Violation[] {
  if (WRITTEN.test(text)) return []; // Z3
  const max = isOfTests(path) ? TEST_FILE_LINES_MAX : FILE_LINES_MAX;
  const lines = text.replace(/\n$/, "").split("\n").length;
  if (lines <= max) return [];
  return [{ path, line: max + 1, message: `${lines} lines, at most ${max}` }];
}

export function checkFunctionSizes(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  walk(file.program, (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type))
      return;
    if (isOfTests(file.path) && groupsTests(node)) return; // Z1
    const line = file.lineOf(node.start);
    const lines = file.lineOf(node.end) - line + 1;
    if (lines <= FUNCTION_LINES_MAX) return;
    const message = `a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}`;
    violations.push({ path: file.path, line, message });
  });
  return violations;
}

function isOfTests(path: string): boolean {
  return isTest(path) || path.startsWith("test/");
}

/** Whether the statements of a function call `test`, `describe` or variants such as `test.each`. */
function groupsTests({ body }: Node): boolean {
  const statements = isNode(body) && Array.isArray(body.body) ? body.body : [];
  return statements.some((statement: Node) =>
    /^(test|it|describe)$/.test(calledName(statement.expression) ?? ""),
  );
}

/** The name a call begins with: "test" for `test.each(rows)(...)`. */
function calledName(expression: unknown): string | null {
  for (let at = expression; isNode(at); at = at.callee ?? at.object ?? at.tag) {
    if (at.type === "Identifier") return String(at.name);
  }
  return null;
}

const UNBREAKABLE = [
  /"(?:[^"\\]|\\.)*"/g,
  /'(?:[^'\\]|\\.)*'/g,
  /`(?:[^`\\]|\\.)*`/g,
  /`.*$/g, // A template that continues on the next line.
  /\/(?:[^/\\\s]|\\.)(?:[^/\\]|\\.)*\/[a-z]*(?=[,;)\].\s])/g,
  /https?:\S+/g,
];

export function checkLineLengths({ path, text }: SourceFile): Violation[] {
  return text.split("\n").flatMap((content, index) => {
    if ([...content].length <= LINE_COLUMNS_MAX) return [];
    const breakable = UNBREAKABLE.reduce((rest, pattern) => rest.replace(pattern, ""), content);
    if (breakable !== content && [...breakable].length <= LINE_COLUMNS_MAX) return []; // Z2
    const message = `${[...content].length} columns, at most ${LINE_COLUMNS_MAX}`;
    return [{ path, line: index + 1, message }];
  });
}

/** Folders that have one file per AWS action; their length is that of the service's own list. */
const ACTIONS = /\/actions$/;

/** Z4: sources that are directly in a folder of src; tests do not count. */
export function checkFolderSizes(files: readonly { readonly path: string }[]): Violation[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    if (!path.startsWith("src/") || isTest(path)) continue;
    const folder = dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > FOLDER_SOURCES_MAX && !ACTIONS.test(folder))
    .map(([path, count]) => ({
      path,
      line: 1,
      message: `${count} sources in one folder, at most ${FOLDER_SOURCES_MAX}: group them`,
    }));
}
