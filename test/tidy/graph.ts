// Graph: finds cycles and dead files in the import graph.
//   G1. Type imports do not exist at run time, so they do not form a cycle.
//   G2. A file is alive if a test or an entry point reaches it, through imports or through its
//       relative path in a string, as in `new URL("./worker.ts", import.meta.url)`.

import { dirname, join } from "node:path/posix";
import { isTest, type SourceFile, type Violation, walk } from "./source-file.ts";

/** Reports each cycle of value imports once, at its first file. */
export function checkCycles(files: readonly SourceFile[]): Violation[] {
  const edges = new Map(files.map((file) => [file.path, valueImports(file)]));
  const done = new Set<string>();
  const violations: Violation[] = [];
  const trail: string[] = [];
  const visit = (path: string): void => {
    if (done.has(path) || !edges.has(path)) return;
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = [...trail.slice(start), path].join(" -> ");
      violations.push({ path, line: 1, message: `import cycle: ${cycle}` });
      return;
    }
    trail.push(path);
    for (const next of edges.get(path) ?? []) visit(next);
    trail.pop();
    done.add(path);
  };
  for (const { path } of files) visit(path);
  return violations;
}

/** Reports files that neither a test nor one of `entries` reaches (G2). */
export function checkDeadFiles(
  files: readonly SourceFile[],
  entries: readonly string[],
): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const open = files.map(({ path }) => path).filter((path) => isTest(path));
  open.push(...entries);
  const alive = new Set<string>();
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const file = byPath.get(path);
    if (file === undefined || alive.has(path)) continue;
    alive.add(path);
    open.push(...file.imports.map(({ specifier }) => resolve(path, specifier)));
    open.push(...namedPaths(file));
  }
  return files
    .filter(({ path }) => !alive.has(path))
    .map(({ path }) => ({
      path,
      line: 1,
      message: "no test or entry point reaches this file: use or remove it",
    }));
}

/** The files that `text`, such as package.json, names; files of both builds as their sources. */
export function entriesNamedIn(text: string): string[] {
  const named = text.match(/[\w./-]+\.(ts|mjs|js)\b/g) ?? [];
  return named.map((path) =>
    path.replace(/^\.\//, "").replace(/^dist\/(.*)\.js$/, (_, stem) => `src/${stem}.ts`),
  );
}

function valueImports(file: SourceFile): string[] {
  const values = file.imports.filter(({ typeOnly }) => !typeOnly); // G1
  return values.map(({ specifier }) => resolve(file.path, specifier));
}

function resolve(from: string, specifier: string): string {
  return specifier.startsWith(".") ? join(dirname(from), specifier) : specifier;
}

function namedPaths(file: SourceFile): string[] {
  const paths: string[] = [];
  walk(file.program, (node) => {
    const { value } = node;
    if (node.type !== "Literal" || typeof value !== "string") return;
    if (!/\.(ts|mjs|js|py)$/.test(value)) return;
    paths.push(join(dirname(file.path), value), value);
  });
  return paths;
}
