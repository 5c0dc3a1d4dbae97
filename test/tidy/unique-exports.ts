// Unique exports: one word per idea. Two files that export a type or function of the same name make
// readers guess which one is meant.
//   U1. Re-exports (`export { x } from`) name the same thing and do not count.
//   U2. src/api exports a part under the part's own name, with defaults for its ports.

import { isNode, type Node, type SourceFile, type Violation } from "./source-file.ts";

export function checkUniqueExports(files: readonly SourceFile[]): Violation[] {
  const first = new Map<string, string>();
  const violations: Violation[] = [];
  for (const file of files) {
    if (!file.path.startsWith("src/") || file.path.endsWith(".test.ts")) continue;
    if (file.path.startsWith("src/api/")) continue; // U2
    for (const { name, start } of exportsOf(file)) {
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

function exportsOf(file: SourceFile): { name: string; start: number }[] {
  const body = file.program.body as readonly Node[];
  return body.flatMap((node) => {
    if (node.type !== "ExportNamedDeclaration" || !isNode(node.declaration)) return []; // U1
    return namesOf(node.declaration).map((name) => ({ name, start: node.start }));
  });
}

function namesOf(declaration: Node): string[] {
  if (declaration.type === "VariableDeclaration") {
    const declarators = declaration.declarations as readonly Node[];
    return declarators.flatMap(({ id }) => (isNode(id) && id.name ? [String(id.name)] : []));
  }
  return isNode(declaration.id) ? [String(declaration.id.name)] : [];
}
