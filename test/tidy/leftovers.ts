// Leftovers: temporary code and notes do not reach a commit.
//   V1. `.only` disables every other test.
//   V2. A note names its owner, TODO(name), or is done before the commit.
//   V3. Old code is in git, not in a comment.

import { isNode, type SourceFile, type Violation, walk } from "./source-file.ts";

export function checkLeftovers(file: SourceFile): Violation[] {
  return [...focusedTests(file), ...notes(file), ...commentedCode(file)];
}

function focusedTests(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  walk(file.program, (node) => {
    if (node.type !== "MemberExpression" || !isNode(node.property)) return;
    if (node.property.name !== "only") return;
    const subject = file.text.slice(node.start, node.property.start);
    if (!/^(test|it|describe|suite)\b/.test(subject)) return;
    const line = file.lineOf(node.property.start);
    violations.push({ path: file.path, line, message: "a focused test disables the others" }); // V1
  });
  return violations;
}

const NOTE = /\b(FIXME|XXX|HACK|TODO)\b(?!\([\w.-]+\))/;

function notes(file: SourceFile): Violation[] {
  return commentLines(file).flatMap(({ text, line }) => {
    const word = NOTE.exec(text)?.[1];
    if (word === undefined) return [];
    const message = word === "TODO" ? "a TODO without an owner" : `a leftover ${word}`;
    return [{ path: file.path, line, message }]; // V2
  });
}

const STATEMENT = /^(import|export|const|let|var|return|await|throw)\b.*;$/;
const OPENING = /^(if|for|while|switch|function|export function|async function)\b.*\{$/;
const CALL = /^[\w.]+\(.*\);$/;

function commentedCode(file: SourceFile): Violation[] {
  return file.comments.flatMap(({ kind, text, line }) => {
    const content = text.trim();
    const isCode = STATEMENT.test(content) || OPENING.test(content) || CALL.test(content);
    if (kind !== "Line" || !isCode) return [];
    return [{ path: file.path, line, message: "code in a comment" }]; // V3
  });
}

function commentLines(file: SourceFile): { text: string; line: number }[] {
  return file.comments.flatMap(({ text, line }) =>
    text.split("\n").map((content, index) => ({ text: content, line: line + index })),
  );
}
