// Unique exports: one word per idea. Two files that export a type or function of the same name make
// readers guess which one is meant.
//   U1. Re-exports (`export { x } from`) name the same thing and do not count.
//   U2. src/api exports a part under the part's own name, with defaults for its ports.
//   U3. Sources are compared with sources. Tests are compared with tests, without constants such as
//       T0, which a file names for itself.
//   U4. test/model and bench/ implement the broker's operations under the broker's names on purpose.

import { isNode, type Node, type SourceFile, type Violation } from "./source-file.ts";

export function checkUniqueExports(files: readonly SourceFile[]): Violation[] {
  const sources = files.filter(({ path }) => isSource(path));
  const fixtures = files.filter(({ path }) => isFixture(path));
  return [
    ...checkTree(sources, exportsOf),
    ...checkTree(fixtures, (file) => exportsOf(file).filter(({ constant }) => !constant)), // U3
  ];
}

function isSource(path: string): boolean {
  if (path.startsWith("src/api/")) return false; // U2
  return path.startsWith("src/") && !path.endsWith(".test.ts");
}

function isFixture(path: string): boolean {
  return path.startsWith("test/") && !path.startsWith("test/model/"); // U4
}

function checkTree(
  files: readonly SourceFile[],
  namesOfFile: (file: SourceFile) => readonly ExportedName[],
): Violation[] {
  const first = new Map<string, string>();
  const violations: Violation[] = [];
  for (const file of files) {
    for (const { name, start } of namesOfFile(file)) {
      const other = first.get(name);
      if (other === undefined) first.set(name, file.path);
      else if (other !== file.path) {
        const message = `"${name}" is also exported by ${other}: give one of them its own name`;
        violations.push({ path: file.path, line: file.lineOf(start), message });
      }
    }
  }
  return violations;
}

interface ExportedName {
  readonly name: string;
  readonly start: number;
  /** A variable in capitals. */
  readonly constant: boolean;
}

function exportsOf(file: SourceFile): ExportedName[] {
  const body = file.program.body as readonly Node[];
  return body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || !isNode(node.declaration)) return []; // U1
    const { type } = node.declaration;
    return namesOf(node.declaration).map((name) => {
      const constant = type === "VariableDeclaration" && /^[A-Z][A-Z0-9_]*$/.test(name);
      return { name, start: node.start, constant };
    });
  });
}

function namesOf(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration") {
    const declarators = declaration.declarations as readonly Node[];
    return declarators.flatMap(({ id }) => (isNode(id) && id.name ? [String(id.name)] : []));
  }
  return isNode(declaration.id) ? [String(declaration.id.name)] : [];
}
