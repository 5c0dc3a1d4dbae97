// Spread literals: an object literal is not spread into another one. `{ ...{ a, b }, c }` only packs
// several fields into one line. Sources, tests and benchmarks are checked alike.
//   P1. A conditional spread, `...(x !== null && { x })`, is not a literal and is allowed.

import { isNode, type SourceFile, type Violation, walk } from "./source-file.ts";

export function checkSpreadLiterals(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  walk(file.program, (node) => {
    if (node.type !== "SpreadElement" || !isNode(node.argument)) return;
    if (node.argument.type !== "ObjectExpression") return; // P1
    const message = "an object literal is spread into another: list its fields";
    violations.push({ path: file.path, line: file.lineOf(node.start), message });
  });
  return violations;
}
