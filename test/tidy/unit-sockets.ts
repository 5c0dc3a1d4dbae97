// Unit sockets: a unit test in src uses no sockets. A test whose point is a socket belongs to
// test/integration.
//   U1. A unit test reaches no file that opens a listener, directly or through its fixtures.
//   U2. A unit test does not import Node's network modules itself.
//   U3. Dynamic imports count, except those of a CLI command: it loads its code when it runs, and
//       unit tests of other commands import the same command table.

import { dirname, join } from "node:path/posix";
import { isNode, isTest, type Node, type SourceFile, type Violation, walk } from "./source-file.ts";

const NETWORK = /^(node:)?(net|tls|http|https|http2|dgram)$/;
const COMMANDS = "src/cli/commands/";
const OPENING = new Set(["createServer", "createSecureServer", "createHttpListener", "listen"]);

export function checkUnitSockets(files: readonly SourceFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const listening = new Set(files.filter(opensListener).map(({ path }) => path));
  const units = files.filter(({ path }) => path.startsWith("src/") && isTest(path));
  return units.flatMap((unit) => [...networkImports(unit), ...reached(unit, byPath, listening)]);
}

/** Whether a file calls what opens a listener, such as `createServer(...)` or `x.listen(...)`. */
function opensListener(file: SourceFile): boolean {
  let opens = false;
  walk(file.program, (node) => {
    if (node.type === "CallExpression" && OPENING.has(calledName(node) ?? "")) opens = true;
  });
  return opens;
}

function calledName({ callee }: Node): string | null {
  if (!isNode(callee)) return null;
  const named = callee.type === "MemberExpression" ? callee.property : callee;
  return isNode(named) && typeof named.name === "string" ? named.name : null;
}

function networkImports({ path, imports }: SourceFile): Violation[] {
  return imports
    .filter(({ specifier, typeOnly }) => !typeOnly && NETWORK.test(specifier))
    .map(({ specifier, line }) => ({
      path,
      line,
      message: `a unit test imports ${specifier}: move it to test/integration`, // U2
    }));
}

/** Reports the shortest chain of imports from a unit test to a listener (U1). */
function reached(
  unit: SourceFile,
  byPath: ReadonlyMap<string, SourceFile>,
  listening: ReadonlySet<string>,
): Violation[] {
  const importer = new Map<string, string | null>([[unit.path, null]]);
  for (const path of importer.keys()) {
    if (listening.has(path)) {
      const chain = chainTo(path, importer).join(" -> ");
      return [{ path: unit.path, line: 1, message: `a unit test opens a listener: ${chain}` }];
    }
    for (const { specifier, typeOnly, dynamic } of byPath.get(path)?.imports ?? []) {
      if (typeOnly || !specifier.startsWith(".")) continue;
      if (dynamic && path.startsWith(COMMANDS)) continue; // U3
      const target = join(dirname(path), specifier);
      if (!importer.has(target)) importer.set(target, path);
    }
  }
  return [];
}

function chainTo(path: string, importer: ReadonlyMap<string, string | null>): string[] {
  const chain: string[] = [];
  for (let at: string | null = path; at !== null; at = importer.get(at) ?? null) chain.unshift(at);
  return chain;
}
